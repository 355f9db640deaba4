/** The disorders (deliberate disturbances) of a run and their times. The seed decides all of them. */
import type { Random } from './random.ts';

export type Disorder =
  /** A gateway is stopped (SIGSTOP), and its clocks go on. With `isInTransaction`, it stops inside a transaction. */
  | { readonly kind: 'stop-gateway'; readonly gateway: number; readonly isInTransaction: boolean }
  /**
   * A gateway's machine is suspended, so its monotonic clock stops too. With `isAmidMany`, this happens while the
   * gateway submits a message to many recipients.
   */
  | { readonly kind: 'suspend-gateway'; readonly gateway: number; readonly isAmidMany: boolean }
  /** kill -9 of a gateway; it is started again afterwards. */
  | { readonly kind: 'kill-gateway'; readonly gateway: number }
  /** The clock of a gateway's machine is set to another time. */
  | { readonly kind: 'set-clock'; readonly gateway: number }
  /** All processes of PostgreSQL are stopped for a time. */
  | { readonly kind: 'stop-postgres' }
  /**
   * A backend of PostgreSQL is killed. All connections end, and commits that are not on the disk are lost. `after`
   * delays the kill until a send is accepted or events are read.
   */
  | { readonly kind: 'crash-postgres'; readonly after: 'send' | 'events' | undefined }
  /** PostgreSQL crashes, and a gateway is killed at the same time. */
  | { readonly kind: 'crash-both'; readonly gateway: number }
  /** Traffic between a gateway and PostgreSQL is delayed. */
  | { readonly kind: 'slow-database'; readonly gateway: number; readonly delayMs: number }
  /** PostgreSQL's answers to a share of the commits are lost, and the connection ends. */
  | { readonly kind: 'lose-commits'; readonly gateway: number; readonly share: number }
  /** A share of the commits never reaches PostgreSQL, and the connection ends. */
  | { readonly kind: 'drop-commits'; readonly gateway: number; readonly share: number }
  /** A gateway has no connection to PostgreSQL. */
  | { readonly kind: 'cut-database'; readonly gateway: number }
  /**
   * Another client locks a row that all changes of the account need: the account's row, or the row of its event feed.
   */
  | { readonly kind: 'lock-row'; readonly table: 'accounts' | 'event_feeds' }
  /** The carrier answers late, slowly, in reverse order or not at all, refuses temporarily, or cuts the connection. */
  | { readonly kind: 'carrier'; readonly how: 'late' | 'slow' | 'reversed' | 'silent' | 'throttle' | 'drop' }
  /** The carrier starts its message ids again, so that ids repeat. */
  | { readonly kind: 'carrier-counts-anew' }
  /** The receiver of webhooks hangs, fails, or cuts the connection. */
  | { readonly kind: 'receiver'; readonly how: 'hang' | 'fail' | 'reset' };

export interface Planned {
  /** Milliseconds after the start of the run. */
  readonly atMs: number;
  readonly lastsMs: number;
  readonly disorder: Disorder;
}

/** Disorders with the same key must not overlap, because the end of one would also end the other. */
const keyOf = (disorder: Disorder): string =>
  'gateway' in disorder ? `gateway ${disorder.gateway}` : disorder.kind;
/** Kinds that may last long, because whatever waits for them has a timeout. */
const LONG: readonly Disorder['kind'][] = [
  'stop-gateway',
  'suspend-gateway',
  'lock-row',
  'set-clock',
  'cut-database',
];
const LONGEST_MS = 25_000;
/** Shortest duration in ms of a disorder with `needsOthers`. It is longer than the lock timeouts and leases. */
const LONG_MS = 18_000;
/** True if the effect of the disorder on other gateways is visible only while those gateways are undisturbed. */
const needsOthers = (disorder: Disorder): boolean =>
  (disorder.kind === 'stop-gateway' && disorder.isInTransaction) ||
  (disorder.kind === 'suspend-gateway' && disorder.isAmidMany);
/**
 * Longest pauses in ms between two disorders. The seed chooses one. Long pauses find the faults that other disorders
 * would hide.
 */
const PAUSES_MS = [1_500, 1_500, 5_000] as const;

const SHARES = [0.05, 0.3, 1] as const;

type Make = (random: Random, gateway: number) => Disorder;

const PROCESSES: readonly Make[] = [
  (random, gateway) => ({ kind: 'stop-gateway', gateway, isInTransaction: random.chance(0.7) }),
  (random, gateway) => ({ kind: 'suspend-gateway', gateway, isAmidMany: random.chance(0.5) }),
  (_, gateway) => ({ kind: 'kill-gateway', gateway }),
  (_, gateway) => ({ kind: 'set-clock', gateway }),
];
const DATABASE: readonly Make[] = [
  () => ({ kind: 'stop-postgres' }),
  (random) => ({
    kind: 'crash-postgres',
    after: random.pick(['send', 'events', 'events', undefined] as const),
  }),
  (_, gateway) => ({ kind: 'crash-both', gateway }),
  (random) => ({ kind: 'lock-row', table: random.pick(['accounts', 'event_feeds'] as const) }),
];
const NETWORK: readonly Make[] = [
  (random, gateway) => ({ kind: 'slow-database', gateway, delayMs: random.between(5, 200) }),
  (random, gateway) => ({ kind: 'lose-commits', gateway, share: random.pick(SHARES) }),
  (random, gateway) => ({ kind: 'drop-commits', gateway, share: random.pick(SHARES) }),
  (_, gateway) => ({ kind: 'cut-database', gateway }),
];
const CARRIER: readonly Make[] = [
  (random) => ({
    kind: 'carrier',
    how: random.pick(['late', 'slow', 'reversed', 'silent', 'throttle', 'drop'] as const),
  }),
  () => ({ kind: 'carrier-counts-anew' }),
];
const RECEIVER: Make = (random) => ({
  kind: 'receiver',
  how: random.pick(['hang', 'fail', 'reset'] as const),
});
/**
 * Groups of disorders. The seed chooses one for a run, so that one kind of disorder does not hide a fault of another.
 */
const THEMES: Readonly<Record<string, readonly Make[]>> = {
  processes: PROCESSES,
  'processes and carrier': [...PROCESSES, ...CARRIER],
  database: DATABASE,
  network: [...NETWORK, RECEIVER],
  'network and carrier': [...NETWORK, ...CARRIER],
  everything: [...PROCESSES, ...DATABASE, ...NETWORK, ...CARRIER, RECEIVER],
};
export const themes = Object.keys(THEMES);

/**
 * Plans the disorders of a run of `seconds`. Without `theme`, the seed chooses one. The last disorder ends two seconds
 * before the run.
 */
export function scheduleOf(random: Random, seconds: number, gateways: number, theme?: string): Planned[] {
  const planned: Planned[] = [];
  const busyUntil = new Map<string, number>();
  const picked = random.pick(themes);
  const kinds = THEMES[theme ?? picked];
  if (!kinds) throw new Error(`there is no theme ${theme}: ${themes.join(', ')}`);
  const pauseMs = random.pick(PAUSES_MS);
  for (let atMs = 500; atMs < (seconds - 2) * 1_000; atMs += random.between(200, pauseMs)) {
    const disorder = random.pick(kinds)(random, random.between(0, gateways - 1));
    const isAlone = needsOthers(disorder) && seconds > 2 * (LONG_MS / 1_000);
    const mostMs = isAlone || (LONG.includes(disorder.kind) && random.chance(0.7)) ? LONGEST_MS : 3_000;
    const lastsMs = Math.min(random.between(isAlone ? LONG_MS : 100, mostMs), seconds * 1_000 - 2_000 - atMs);
    if ((busyUntil.get(keyOf(disorder)) ?? 0) > atMs) continue;
    busyUntil.set(keyOf(disorder), atMs + lastsMs);
    if (isAlone)
      for (let other = 0; other < gateways; other += 1) busyUntil.set(`gateway ${other}`, atMs + lastsMs);
    planned.push({ atMs, lastsMs, disorder });
  }
  return planned;
}
