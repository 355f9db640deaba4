/** What goes wrong in a run, and when: all of it follows from the seed. */
import type { Random } from './random.ts';

export type Disorder =
  /** A gateway stands still, and its clocks go on. */
  | { readonly kind: 'stop-gateway'; readonly gateway: number }
  /** A gateway's machine is suspended: its monotonic clock stands still, too. */
  | { readonly kind: 'suspend-gateway'; readonly gateway: number }
  /** kill -9 of a gateway; it is started again afterwards. */
  | { readonly kind: 'kill-gateway'; readonly gateway: number }
  /** The clock of a gateway's machine is set to another time. */
  | { readonly kind: 'set-clock'; readonly gateway: number }
  /** All of PostgreSQL stands still. */
  | { readonly kind: 'stop-postgres' }
  /** A backend of PostgreSQL is killed: all connections end, and what was not on the disk is gone. */
  | { readonly kind: 'crash-postgres' }
  /** PostgreSQL crashes, and a gateway is killed at the same time. */
  | { readonly kind: 'crash-both'; readonly gateway: number }
  /** What a gateway and PostgreSQL say to each other takes longer. */
  | { readonly kind: 'slow-database'; readonly gateway: number; readonly delayMs: number }
  /** PostgreSQL's answers to a share of the commits are lost, and the connection ends. */
  | { readonly kind: 'lose-commits'; readonly gateway: number; readonly share: number }
  /** A share of the commits never reaches PostgreSQL, and the connection ends. */
  | { readonly kind: 'drop-commits'; readonly gateway: number; readonly share: number }
  /** No connection to PostgreSQL. */
  | { readonly kind: 'cut-database'; readonly gateway: number }
  /** Somebody else holds a row that all of the account's changes need: its own, or that of its event feed. */
  | { readonly kind: 'lock-row'; readonly table: 'accounts' | 'event_feeds' }
  /** The carrier answers late or slowly, in reverse order, not at all, refuses for now, or cuts the connection. */
  | { readonly kind: 'carrier'; readonly how: 'late' | 'slow' | 'reversed' | 'silent' | 'throttle' | 'drop' }
  /** The carrier gives ids again that it gave before. */
  | { readonly kind: 'carrier-counts-anew' }
  /** The receiver of webhooks hangs, fails, or cuts the connection. */
  | { readonly kind: 'receiver'; readonly how: 'hang' | 'fail' | 'reset' };

export interface Planned {
  /** Milliseconds after the start of the run. */
  readonly atMs: number;
  readonly lastsMs: number;
  readonly disorder: Disorder;
}

/** Kinds that must not overlap with themselves: the second would end the first. */
const keyOf = (disorder: Disorder): string =>
  'gateway' in disorder ? `gateway ${disorder.gateway}` : disorder.kind;
/** These may last for long: what waits for them gives up by itself. */
const LONG: readonly Disorder['kind'][] = ['stop-gateway', 'suspend-gateway', 'lock-row', 'set-clock'];

const SHARES = [0.05, 0.3, 1] as const;

function disorderOf(random: Random, gateways: number): Disorder {
  const gateway = random.between(0, gateways - 1);
  return random.pick<() => Disorder>([
    () => ({ kind: 'stop-gateway', gateway }),
    () => ({ kind: 'suspend-gateway', gateway }),
    () => ({ kind: 'kill-gateway', gateway }),
    () => ({ kind: 'set-clock', gateway }),
    () => ({ kind: 'stop-postgres' }),
    () => ({ kind: 'crash-postgres' }),
    () => ({ kind: 'crash-both', gateway }),
    () => ({ kind: 'slow-database', gateway, delayMs: random.between(5, 200) }),
    () => ({ kind: 'lose-commits', gateway, share: random.pick(SHARES) }),
    () => ({ kind: 'drop-commits', gateway, share: random.pick(SHARES) }),
    () => ({ kind: 'cut-database', gateway }),
    () => ({ kind: 'lock-row', table: random.pick(['accounts', 'event_feeds'] as const) }),
    () => ({
      kind: 'carrier',
      how: random.pick(['late', 'slow', 'reversed', 'silent', 'throttle', 'drop'] as const),
    }),
    () => ({ kind: 'carrier-counts-anew' }),
    () => ({ kind: 'receiver', how: random.pick(['hang', 'fail', 'reset'] as const) }),
  ])();
}

/** The disorder of a run of `seconds`. It ends two seconds before the run does. */
export function scheduleOf(random: Random, seconds: number, gateways: number): Planned[] {
  const planned: Planned[] = [];
  const busyUntil = new Map<string, number>();
  for (let atMs = 500; atMs < (seconds - 2) * 1_000; atMs += random.between(200, 1_500)) {
    const disorder = disorderOf(random, gateways);
    const mostMs = LONG.includes(disorder.kind) ? 20_000 : 3_000;
    const lastsMs = Math.min(random.between(100, mostMs), seconds * 1_000 - 2_000 - atMs);
    if ((busyUntil.get(keyOf(disorder)) ?? 0) > atMs) continue;
    busyUntil.set(keyOf(disorder), atMs + lastsMs);
    planned.push({ atMs, lastsMs, disorder });
  }
  return planned;
}
