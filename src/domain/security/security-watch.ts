/**
 * What is tried with keys, signatures, passwords and callbacks that are not right. A **security event** is counted (for
 * the metrics), said in the log and, where it is known whose key or person it concerns, put into the audit log. All of
 * it is bounded, since whoever guesses decides how many there are: the log has `LINES_A_MINUTE` lines of a kind, and the
 * audit log the first event of a kind, address and target in a window and at its end how many there were. Noting
 * one touches no database; `flush` writes, and is called about once a second.
 */
import { recordChange } from '../audit/record-change.ts';
import type { Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Logger } from '../ports/logger.ts';

/** The kinds of refusal, as the log and the metrics name them; a closed list, so that it can be a label. */
export const REFUSAL_KINDS = [
  'api_key',
  'signature',
  'allowlist',
  'session',
  'password',
  'lockout',
  'callback',
  'metrics_token',
] as const;
export type RefusalKind = (typeof REFUSAL_KINDS)[number];

/** An event for the audit log of the account that it concerns; null is the platform, as with operators. */
export interface AuditedEvent {
  readonly accountId: string | null;
  readonly caller: Caller;
  readonly action: 'member.signIn' | 'member.signInFailed' | 'member.lockedOut' | 'apiKey.outsideAllowlist';
  readonly target: string;
}

export interface Refusal {
  readonly kind: RefusalKind;
  /** Why, in words of ours: never what was sent. */
  readonly reason: string;
  /** Where it came from, as `shownClient` writes it. */
  readonly address: string;
  /** Ids for the log. */
  readonly keyId?: string | undefined;
  readonly userId?: string | undefined;
  readonly audited?: AuditedEvent | undefined;
}

interface Tally {
  readonly event: AuditedEvent;
  readonly address: string;
  readonly from: Date;
  until: Date;
  count: number;
  /** How many the entries written so far speak of. */
  written: number;
}
interface LogWindow {
  readonly startedAt: number;
  lines: number;
  suppressed: number;
}

const LINES_A_MINUTE = 10;
const LOG_WINDOW_MS = 60_000;
const AUDIT_WINDOW_MS = 15 * 60_000;
/** Addresses told apart for one action on one target in a window; others are counted together. */
const ADDRESSES_MAX = 20;
const OTHER_ADDRESSES = 'others';
/** Tallies of a process; beyond these, events are counted and logged but not audited. */
const TALLIES_MAX = 5_000;
/** Entries of one transaction: they hold the end of the audit chain for as long as they are written. */
const FLUSH_BATCH = 50;

export class SecurityWatch {
  readonly #deps: Pick<Dependencies, 'uow' | 'clock' | 'ids'>;
  readonly #logger: Logger;
  readonly #counts = new Map<RefusalKind, number>(REFUSAL_KINDS.map((kind) => [kind, 0]));
  readonly #windows = new Map<RefusalKind, LogWindow>();
  readonly #tallies = new Map<string, Tally>();
  /** Addresses of the open tallies, by action and target. */
  readonly #addresses = new Map<string, Set<string>>();

  constructor(deps: Pick<Dependencies, 'uow' | 'clock' | 'ids'>, logger: Logger) {
    this.#deps = deps;
    this.#logger = logger;
  }

  /** How many refusals of each kind there were since the process began. */
  get counts(): ReadonlyMap<RefusalKind, number> {
    return this.#counts;
  }

  /** Takes note of a refusal: counts it, logs it within the bound, and keeps it for the audit log where it is for that. */
  refused(refusal: Refusal): void {
    const { kind, reason, address, keyId, userId, audited } = refusal;
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    const window = this.#windowOf(kind);
    if (window.lines < LINES_A_MINUTE) {
      window.lines += 1;
      this.#logger.warn({ security: kind, reason, address, ...ids({ keyId, userId }) }, 'refused');
    } else window.suppressed += 1;
    if (audited) this.audited(audited, address);
  }

  /** Keeps an event for the audit log. */
  audited(event: AuditedEvent, address: string): void {
    const subject = `${event.action} ${event.target}`;
    const addresses = this.#addresses.get(subject) ?? new Set<string>();
    const shown = addresses.has(address) || addresses.size < ADDRESSES_MAX ? address : OTHER_ADDRESSES;
    const key = `${subject} ${shown}`;
    const now = this.#deps.clock.now();
    const tally = this.#tallies.get(key);
    if (tally) {
      tally.count += 1;
      tally.until = now;
    } else if (this.#tallies.size < TALLIES_MAX) {
      this.#addresses.set(subject, addresses.add(shown));
      this.#tallies.set(key, { event, address: shown, from: now, until: now, count: 1, written: 0 });
    }
  }

  /**
   * Writes what is due into the audit log: the first of each, and what a window has had besides when it ends, or when the
   * process does (`isLast`). Rejects with what the database says; nothing is lost then, and the next call tries again.
   */
  async flush({ isLast = false } = {}): Promise<void> {
    this.#endLogWindows(isLast);
    const now = this.#deps.clock.now().getTime();
    const isOver = (tally: Tally) => isLast || now - tally.from.getTime() >= AUDIT_WINDOW_MS;
    const due = [...this.#tallies].filter(
      ([, tally]) => tally.written === 0 || (isOver(tally) && tally.count > tally.written),
    );
    for (let start = 0; start < due.length; start += FLUSH_BATCH) {
      await this.#write(due.slice(start, start + FLUSH_BATCH).map(([, tally]) => tally));
    }
    for (const [key, tally] of this.#tallies) {
      if (isOver(tally) && tally.written === tally.count) this.#forget(key, tally);
    }
  }

  async #write(tallies: readonly Tally[]): Promise<void> {
    const entries = tallies.map((tally) => ({ tally, count: tally.count, until: tally.until }));
    await this.#deps.uow.run(async (tx) => {
      for (const { tally, count, until } of entries) {
        const { caller, ...change } = tally.event;
        const from = tally.from.toISOString();
        const after = { address: tally.address, count, from, until: until.toISOString() };
        await recordChange(tx, this.#deps, caller, { ...change, after });
      }
    });
    for (const { tally, count } of entries) tally.written = count;
  }

  #forget(key: string, { event, address }: Tally): void {
    this.#tallies.delete(key);
    const subject = `${event.action} ${event.target}`;
    const addresses = this.#addresses.get(subject);
    addresses?.delete(address);
    if (addresses?.size === 0) this.#addresses.delete(subject);
  }

  #windowOf(kind: RefusalKind): LogWindow {
    const now = this.#deps.clock.now().getTime();
    const open = this.#windows.get(kind);
    if (open && now - open.startedAt < LOG_WINDOW_MS) return open;
    if (open) this.#sayWhatWasSuppressed(kind, open);
    const window = { startedAt: now, lines: 0, suppressed: 0 };
    this.#windows.set(kind, window);
    return window;
  }

  #endLogWindows(isLast: boolean): void {
    const now = this.#deps.clock.now().getTime();
    for (const [kind, window] of this.#windows) {
      if (!isLast && now - window.startedAt < LOG_WINDOW_MS) continue;
      this.#windows.delete(kind);
      this.#sayWhatWasSuppressed(kind, window);
    }
  }

  #sayWhatWasSuppressed(security: RefusalKind, { suppressed }: LogWindow): void {
    if (suppressed > 0) this.#logger.warn({ security, suppressed }, 'refused more often than is logged');
  }
}

function ids(given: { keyId: string | undefined; userId: string | undefined }): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
