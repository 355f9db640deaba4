/**
 * Attempts with wrong keys, signatures, passwords and callbacks. A **security event** is counted for the metrics,
 * logged and, if it concerns a known key or person, written to the audit log (R213).
 *
 * Attackers choose the number of events, so both logs are bounded: `LINES_A_MINUTE` log lines of a kind, and in the
 * audit log the first event of a kind, address and target in a window and a total at its end. Recording an event
 * does not touch the database. `flush` writes; call it about once a second.
 */
import { recordChange } from '../audit/record-change.ts';
import type { Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Logger } from '../ports/logger.ts';

/** Kinds of refusal in the log and the metrics. A closed list, because it is a metrics label. */
export const SECURITY_EVENT_KINDS = [
  'api_key',
  'signature',
  'allowlist',
  'session',
  'password',
  'second_factor',
  'lockout',
  'callback',
  'metrics_token',
] as const;
export type SecurityEventKind = (typeof SECURITY_EVENT_KINDS)[number];

/** An event for the audit log of an account, or with null for the platform's. */
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
  /** Browser and system of the client, for people. */
  readonly device?: string | undefined;
}

export interface SecurityEvent {
  readonly kind: SecurityEventKind;
  /** Our words, never the text that was sent. */
  readonly reason: string;
  /** The client, as `shownClient` writes it. */
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
  /** The count in the entries written so far. */
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
/** Addresses counted separately for one action and target in a window; further ones are counted together. */
const ADDRESSES_MAX = 20;
const OTHER_ADDRESSES = 'others';
/** Tallies of a process. Beyond them, events are counted and logged but not audited. */
const TALLIES_MAX = 5_000;
/** Entries of one transaction, which locks the end of the audit chain. */
const FLUSH_BATCH = 50;

export class SecurityWatch {
  readonly #deps: Pick<Dependencies, 'uow' | 'clock' | 'ids'>;
  readonly #logger: Logger;
  readonly #counts = new Map<SecurityEventKind, number>(SECURITY_EVENT_KINDS.map((kind) => [kind, 0]));
  readonly #windows = new Map<SecurityEventKind, LogWindow>();
  readonly #tallies = new Map<string, Tally>();
  /** Addresses of the open tallies, by action and target. */
  readonly #addresses = new Map<string, Set<string>>();

  constructor(deps: Pick<Dependencies, 'uow' | 'clock' | 'ids'>, logger: Logger) {
    this.#deps = deps;
    this.#logger = logger;
  }

  /** Refusals of each kind since the process started. */
  get counts(): ReadonlyMap<SecurityEventKind, number> {
    return this.#counts;
  }

  /** Counts and logs a refusal, and keeps it for the audit log if `audited` is given. */
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

  /** Keeps an event for the audit log. */
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
   * Writes due events to the audit log: the first of each at once, and the further ones when their window or the
   * process (`isLast`) ends. Rejects with the database's error. Nothing is lost then; the next call tries again.
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
