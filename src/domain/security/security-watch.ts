/**
 * Records attempts with wrong keys, signatures, passwords and callbacks. A **security event** is counted for the
 * metrics and logged. If it concerns a known key or person, it is also written to the audit log (R213).
 *
 * Attackers decide how many events there are, so both logs are bounded. The log gets at most `LINES_A_MINUTE` lines of
 * each kind. For each kind, IP address and target, the audit log gets the first event in a time window and a total at
 * its end. Recording an event does not use the database. `flush` writes to the database. Call it about once a second.
 */
import { recordChange } from '../audit/record-change.ts';
import type { Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Logger } from '../ports/logger.ts';

/** The kinds of security events. The list is closed, because the kind is a label of a metric. */
export const SECURITY_EVENT_KINDS = [
  'api_key',
  'signature',
  'allowlist',
  'session',
  'password',
  'second_factor',
  'single_sign_on',
  'lockout',
  'callback',
  'metrics_token',
] as const;
export type SecurityEventKind = (typeof SECURITY_EVENT_KINDS)[number];

/** An event for the audit log of an account. If `accountId` is null, it is for the audit log of the platform. */
export interface AuditedEvent {
  readonly accountId: string | null;
  readonly caller: Caller;
  readonly action:
    | 'member.signIn'
    | 'member.signInFailed'
    | 'member.lockedOut'
    | 'member.useRecoveryCode'
    | 'apiKey.outsideAllowlist';
  readonly target: string;
  /** Browser and operating system of the client, if a person is concerned. */
  readonly device?: string | undefined;
}

export interface SecurityEvent {
  readonly kind: SecurityEventKind;
  /** Why the request was refused. It is a text of this gateway and never contains what was sent. */
  readonly reason: string;
  /** The client's IP address, as `shownClient` writes it. */
  readonly address: string;
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
  /** The part of `count` that is already in the audit log. */
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
/**
 * For one action and target, this many IP addresses are counted separately in a time window. All further addresses are
 * counted together.
 */
const ADDRESSES_MAX = 20;
const OTHER_ADDRESSES = 'others';
/**
 * Largest number of open tallies (event counts for the audit log) in a process. Further events are counted and logged,
 * but not audited.
 */
const TALLIES_MAX = 5_000;
/** Largest number of audit entries in one transaction, because the transaction locks the end of the audit chain. */
const FLUSH_BATCH = 50;

export class SecurityWatch {
  readonly #deps: Pick<Dependencies, 'uow' | 'clock' | 'ids'>;
  readonly #logger: Logger;
  readonly #counts = new Map<SecurityEventKind, number>(SECURITY_EVENT_KINDS.map((kind) => [kind, 0]));
  readonly #windows = new Map<SecurityEventKind, LogWindow>();
  readonly #tallies = new Map<string, Tally>();
  /** IP addresses of the open tallies, by action and target. */
  readonly #addresses = new Map<string, Set<string>>();
  /** Resolves when the last flush has ended. */
  #flushed: Promise<void> = Promise.resolve();

  constructor(deps: Pick<Dependencies, 'uow' | 'clock' | 'ids'>, logger: Logger) {
    this.#deps = deps;
    this.#logger = logger;
  }

  /** Number of refusals of each kind since the process started. */
  get counts(): ReadonlyMap<SecurityEventKind, number> {
    return this.#counts;
  }

  /**
   * Counts and logs a refusal. If `audited` is given, also stores the event until `flush` writes it to the audit log.
   */
  recordRefusal(event: SecurityEvent): void {
    const { kind, reason, address, keyId, userId, audited } = event;
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    const window = this.#windowOf(kind);
    if (window.lines < LINES_A_MINUTE) {
      window.lines += 1;
      this.#logger.warn({ security: kind, reason, address, ...ids({ keyId, userId }) }, 'refused');
    } else window.suppressed += 1;
    if (audited) this.recordAudited(audited, address);
  }

  /** Stores an event in memory until `flush` writes it to the audit log. */
  recordAudited(event: AuditedEvent, address: string): void {
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
   * Writes due events to the audit log. The first event of a tally is due at once. Further events are due when the time
   * window ends or the process stops (`isLast`). Rejects with the database's error. The events then stay in memory, and
   * the next call tries again.
   *
   * Calls run one after another. Two at the same time would both write the same events.
   */
  flush({ isLast = false } = {}): Promise<void> {
    const flushed = this.#flushed.then(() => this.#flush(isLast));
    // The caller of this flush gets its error. The next flush begins all the same.
    this.#flushed = flushed.catch(() => undefined);
    return flushed;
  }

  async #flush(isLast: boolean): Promise<void> {
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
        const { caller, device, ...change } = tally.event;
        const from = tally.from.toISOString();
        const where = { address: tally.address, ...(device === undefined ? {} : { device }) };
        const after = { ...where, count, from, until: until.toISOString() };
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

  #windowOf(kind: SecurityEventKind): LogWindow {
    const now = this.#deps.clock.now().getTime();
    const open = this.#windows.get(kind);
    if (open && now - open.startedAt < LOG_WINDOW_MS) return open;
    if (open) this.#logSuppressed(kind, open);
    const window = { startedAt: now, lines: 0, suppressed: 0 };
    this.#windows.set(kind, window);
    return window;
  }

  #endLogWindows(isLast: boolean): void {
    const now = this.#deps.clock.now().getTime();
    for (const [kind, window] of this.#windows) {
      if (!isLast && now - window.startedAt < LOG_WINDOW_MS) continue;
      this.#windows.delete(kind);
      this.#logSuppressed(kind, window);
    }
  }

  #logSuppressed(security: SecurityEventKind, { suppressed }: LogWindow): void {
    if (suppressed > 0) this.#logger.warn({ security, suppressed }, 'refused more often than is logged');
  }
}

function ids(given: { keyId: string | undefined; userId: string | undefined }): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
