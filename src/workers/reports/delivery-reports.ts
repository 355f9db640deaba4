import { DomainError, serviceUnavailable } from '../../domain/errors.ts';
import { applyReads } from '../../domain/messages/apply-reads.ts';
import type { Message } from '../../domain/messages/message.ts';
import { announceMessages } from '../../domain/messages/message-events.ts';
import { sanitizeReport } from '../../domain/messages/sanitize-provider-text.ts';
import { transitionRecipients } from '../../domain/messages/transition-recipients.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import { type Measurements, UNMEASURED } from '../../domain/ports/measurements.ts';
import type { RecipientMove, TimelineNote } from '../../domain/ports/message-stores.ts';
import type { DeliveryReport } from '../../domain/ports/provider.ts';
import type {
  KeptPlace,
  KeptReport,
  MatchedReport,
  ReportSpool,
  ReportStore,
  StoredReport,
} from '../../domain/ports/report-stores.ts';
import type { Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { isRefused, SpooledReports, type Taken } from './spooled-reports.ts';

/**
 * How far `matchKept` looks back, in ms. Recording a sid also applies the reports that came before it, but it misses a
 * report whose transaction is still open. `matchKept` finds these. `MISSED_MS` is longer than two clocks may differ.
 * Until its first success in a process, `matchKept` looks back `KEPT_MS`, because the process that missed a report may
 * have ended (R15).
 */
const MISSED_MS = 10 * 60_000;
const KEPT_MS = 24 * 3_600_000;
/**
 * A report may have another number than the message with its sid (R220). It then waits for this time, in ms, because
 * the right message may not have recorded its sid yet. After this time it applies to the only message with its sid,
 * because some carriers mask or rewrite numbers.
 */
const OTHER_NUMBER_MS = 5 * 60_000;
/** Largest number of kept reports in one transaction. */
const KEPT_PAGE = 500;
/** A UUID that is smaller than every id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** A recipient gets at most this many timeline notes with the same text. Some carriers repeat reports for days. */
const NOTED_ALIKE = 8;

interface ProviderReport {
  readonly provider: string;
  readonly report: DeliveryReport;
  /** If true, the report is not stored when its sid is unknown or when it changes nothing. */
  readonly isForKnownOnly?: boolean;
  /** When the report arrived. Default: now. */
  readonly receivedAt?: Date;
  /** Set if the report is already stored. */
  readonly id?: string;
}

interface KeptPage {
  readonly applied: number;
  /** Start of the next page. Undefined after the last page. */
  readonly next: KeptPlace | undefined;
}

/** Largest number of reports that may wait to be recorded, of all providers together. */
const MAX_WAITING = 20_000;

interface DeliveryReportsOptions {
  /**
   * Called with the error of a failed batch. True means to record its reports one by one. False while the database is
   * unreachable.
   */
  readonly mayPassAlone: (error: unknown) => boolean;
  /** True if an error means that the database is unreachable. False if it means that a report is invalid. */
  readonly isFault: (error: unknown) => boolean;
  /** Stores reports on disk while the database is unreachable. */
  readonly spool: ReportSpool;
  readonly progress: Pick<ReportStore, 'spoolAppliedTo' | 'noteSpoolApplied' | 'forgetSpool'>;
  readonly measurements?: Pick<Measurements, 'reported'>;
  readonly logger: Logger;
}

/**
 * Receives delivery reports of all providers (R15) and records many in one transaction. While the database is
 * unreachable, it stores them on this host's disk and applies them later, in order.
 */
export class DeliveryReports {
  readonly #uow: UnitOfWork;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #mayPassAlone: (error: unknown) => boolean;
  readonly #measurements: Pick<Measurements, 'reported'>;
  readonly #spooled: SpooledReports<ProviderReport>;
  /** Resolves with true for each report whose sid is known. */
  readonly #batches: Batcher<ProviderReport, Taken>;
  /** How far `matchKept` looks back, in ms. */
  #lookBackMs = KEPT_MS;

  constructor(uow: UnitOfWork, clock: Clock, ids: Ids, options: DeliveryReportsOptions) {
    this.#uow = uow;
    this.#clock = clock;
    this.#ids = ids;
    this.#mayPassAlone = options.mayPassAlone;
    this.#measurements = options.measurements ?? UNMEASURED;
    this.#spooled = new SpooledReports({
      ...options,
      uow,
      now: () => clock.now(),
      record: (reports) => this.#record(reports),
      // A report with another number waits for OTHER_NUMBER_MS from now on, and not from its arrival. While the
      // database was unreachable, no sid could be recorded either.
      apply: (tx, reports) =>
        applyReports(
          tx,
          ids,
          reports.map(({ provider, report }) => ({ provider, report })),
          clock.now(),
          receivedAtOf(reports),
        ),
    });
    this.#batches = new Batcher((reports) => this.#spooled.take(reports), {
      maxWeight: 500,
      // If the database refuses a whole batch (DomainError), it would refuse each report, too.
      isolate: (error) => !(error instanceof DomainError) && options.mayPassAlone(error),
    });
  }

  /**
   * Resolves when the reports are recorded or on this host's disk. A report with an unknown sid is kept until its sid
   * is known. Throws `service_unavailable` if neither is possible.
   */
  async take(provider: string, reports: readonly DeliveryReport[]): Promise<void> {
    await this.#add(reports.map((report) => ({ provider, report: sanitizeReport(report) })));
  }

  /**
   * Records only the reports with known sids. Does not store the others, or a report that changes nothing. Returns the
   * number of unknown sids.
   */
  async takeKnown(provider: string, reports: readonly DeliveryReport[]): Promise<number> {
    const taken = await this.#add(
      reports.map((report) => ({ provider, report: sanitizeReport(report), isForKnownOnly: true })),
    );
    return taken.filter((isKnown) => !isKnown).length;
  }

  /** Applies the reports on disk, oldest first. Rejects while the database is unreachable. */
  replay(): Promise<void> {
    return this.#spooled.replay();
  }

  /**
   * Takes over the report files of processes that are gone. Call it at the start, before new reports are received, and
   * repeatedly later.
   */
  adopt(): Promise<void> {
    return this.#spooled.adopt();
  }

  /**
   * Applies kept reports whose sids became known. Returns their number. If one fails, it applies the others and then
   * rejects with the first error.
   */
  async matchKept(): Promise<number> {
    const faults: unknown[] = [];
    let count = 0;
    let after: KeptPlace | undefined = {
      place: new Date(this.#clock.now().getTime() - this.#lookBackMs).toISOString(),
      id: FIRST_ID,
    };
    while (after) {
      const page: KeptPage = await this.#applyKept(after, KEPT_PAGE, faults);
      count += page.applied;
      after = page.next;
    }
    if (faults.length > 0) throw faults[0];
    this.#lookBackMs = MISSED_MS;
    return count;
  }

  /**
   * Applies up to `limit` kept reports in one transaction. After a failure that a single report may have caused,
   * applies them one by one.
   */
  async #applyKept(after: KeptPlace, limit: number, faults: unknown[]): Promise<KeptPage> {
    let seen: readonly StoredReport[] = [];
    let applied = 0;
    try {
      applied = await this.#uow.run(async (tx) => {
        seen = await tx.reports.lockMatchable(after, limit);
        // Read the time after the wait for locks. Otherwise later events would get an earlier time.
        const unknown = await applyReports(tx, this.#ids, seen, this.#clock.now());
        const known = seen.filter(({ report }) => !unknown.has(report));
        await tx.reports.forget(known.map(({ id }) => id));
        return known.length;
      });
    } catch (error) {
      if (seen.length === 0 || !this.#mayPassAlone(error)) throw error;
      if (seen.length === 1) faults.push(error);
      else return this.#applyOneByOne(after, seen.length, limit, faults);
    }
    return { applied, next: seen.length === limit ? seen.at(-1) : undefined };
  }

  async #applyOneByOne(from: KeptPlace, length: number, limit: number, faults: unknown[]): Promise<KeptPage> {
    let applied = 0;
    let next: KeptPlace | undefined = from;
    for (let index = 0; index < length && next; index++) {
      const page: KeptPage = await this.#applyKept(next, 1, faults);
      applied += page.applied;
      next = page.next;
    }
    return { applied, next: length === limit ? next : undefined };
  }

  drain(): Promise<void> {
    return this.#batches.drain();
  }

  async #add(reports: readonly ProviderReport[]): Promise<readonly boolean[]> {
    for (const { provider, report } of reports) this.#measurements.reported(provider, report.status);
    const waiting = this.#batches.waitingWeight;
    if (waiting > 0 && waiting + reports.length > MAX_WAITING) {
      throw serviceUnavailable('More delivery reports are waiting than can be stored. Try again.');
    }
    const taken = await Promise.all(reports.map((report) => this.#batches.add(report)));
    return taken.map((each) => {
      if (isRefused(each)) throw each.refused;
      return each;
    });
  }

  #record(reports: readonly ProviderReport[]): Promise<boolean[]> {
    return this.#uow.run(async (tx) => {
      const unknown = await applyReports(tx, this.#ids, reports, this.#clock.now());
      return reports.map(({ report }) => !unknown.has(report));
    });
  }
}

/** Returns a function from a report to the time at which it arrived. */
export function receivedAtOf(reports: readonly KeptReport[]): (report: DeliveryReport) => Date {
  const times = new Map(reports.map(({ report, receivedAt }) => [report, receivedAt]));
  return (report) => times.get(report) ?? new Date();
}

/**
 * Applies reports in a transaction. Stores the reports with unknown sids, unless `isForKnownOnly` is set. Returns all
 * reports with unknown sids. `timeOf` returns the time at which a report counts as arrived. Default: now.
 */
export async function applyReports(
  tx: Tx,
  ids: Ids,
  reports: readonly ProviderReport[],
  now: Date,
  timeOf: (report: DeliveryReport) => Date = () => now,
): Promise<ReadonlySet<DeliveryReport>> {
  const matched: MatchedReport[] = [];
  const unknown = new Set<DeliveryReport>();
  const passing = new Set(reports.flatMap(({ report, isForKnownOnly }) => (isForKnownOnly ? [report] : [])));
  for (const [provider, own] of Map.groupBy(reports, (report) => report.provider)) {
    const result = await tx.reports.match(
      provider,
      own.map(({ report, receivedAt = now }) => ({
        report,
        acceptsOtherNumber: now.getTime() - receivedAt.getTime() >= OTHER_NUMBER_MS,
      })),
    );
    matched.push(...result.matched);
    for (const report of result.unmatched) unknown.add(report);
  }
  // Do not store a report again that is stored already. Its waiting time would begin again, and a report with another
  // number would wait for ever.
  const kept = reports.filter(
    ({ id, report }) => id === undefined && unknown.has(report) && !passing.has(report),
  );
  await tx.reports.keepUnmatched(
    kept.map(({ provider, report, receivedAt = now }) => ({ provider, report, receivedAt })),
  );
  if (matched.length === 0) return unknown;
  const messageIds = [...new Set(matched.map((match) => match.messageId))];
  const moves = new Map<MatchedReport, RecipientMove>();
  for (const match of matched) {
    // A text of several parts counts as delivered when all its parts are.
    if (match.report.status !== 'failed' && !match.complete) continue;
    moves.set(match, moveOf(match, timeOf(match.report)));
  }
  const { messages, done } = await transitionRecipients(tx, ids, messageIds, [...moves.values()], now);
  const reads = [...moves.keys()].filter((match) => match.report.status === 'read');
  const read = await applyReads(tx, ids, messages, reads, ({ report }) => timeOf(report), now);
  const late = [...moves]
    // Write no note for a report without proof of its sender. Anyone could fill the timeline with such reports (R211).
    .filter(([match, move]) => !done.has(move) && !read.has(match) && !passing.has(match.report))
    .map(([match]) => lateNote(match, messages, timeOf(match.report)));
  const notes = late.filter((note) => note !== undefined);
  await tx.messages.note(notes, NOTED_ALIKE);
  announceMessages(tx, messages, notes);
  return unknown;
}

/**
 * Returns the change of status that a report asks for: from `sent` to `delivered`, or to `failed`.
 * `transitionRecipients` makes it, unless the recipient has left `sent` before.
 */
function moveOf(match: MatchedReport, at: Date): RecipientMove {
  const { report } = match;
  return {
    messageId: match.messageId,
    position: match.position,
    from: 'sent',
    to: report.status === 'failed' ? 'failed' : 'delivered',
    at,
    provider: null,
    sids: [],
    error:
      report.status === 'failed'
        ? {
            code: report.code ?? 'undeliverable',
            message: report.reason ?? 'The carrier could not deliver it.',
          }
        : null,
  };
}

/** Returns the timeline note for a late or repeated report, which changes nothing (R13). */
function lateNote(
  match: MatchedReport,
  messages: ReadonlyMap<string, Message>,
  at: Date,
): TimelineNote | undefined {
  const message = messages.get(match.messageId);
  return (
    message && {
      accountId: message.accountId,
      messageId: match.messageId,
      position: match.position,
      at,
      status: match.report.status,
      detail: 'A repeated or late delivery report; it changed nothing.',
    }
  );
}
