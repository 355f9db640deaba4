import { DomainError, serviceUnavailable } from '../../domain/errors.ts';
import { applyReads } from '../../domain/messages/apply-reads.ts';
import type { Message } from '../../domain/messages/message.ts';
import { announceMessages } from '../../domain/messages/message-events.ts';
import { sanitizeReport } from '../../domain/messages/sanitize-provider-text.ts';
import { transitionRecipients } from '../../domain/messages/transition-recipients.ts';
import type { Logger } from '../../domain/ports/logger.ts';
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
 * Whoever learns a sid takes the reports that wait for it. Only what was being kept at that moment is missed, and looked
 * for afterwards, so long after it came; clocks may differ by as much. A process that begins looks for all that are
 * kept (R15): the one that missed one may have ended just then.
 */
const MISSED_MS = 10 * 60_000;
const KEPT_MS = 24 * 3_600_000;
/**
 * A report with a number that is not its message's waits this long for the message with its number, whose sid may not be
 * recorded yet. Then it counts for the only message with its sid: some carriers mask or rewrite numbers.
 */
const OTHER_NUMBER_MS = 5 * 60_000;
/** Kept reports that one transaction applies at the most. */
const KEPT_PAGE = 500;
/** Comes before every id. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** Reports of a recipient that change nothing are noted so many times: some carriers repeat theirs for days. */
const NOTED_ALIKE = 8;

interface ProviderReport {
  readonly provider: string;
  readonly report: DeliveryReport;
  /** Nothing is kept of it where nobody knows its sid, nor where it changes nothing. */
  readonly isForKnownOnly?: boolean;
  /** Now when absent. */
  readonly receivedAt?: Date;
  /** Of one that is stored already. */
  readonly id?: string;
}

interface KeptPage {
  readonly applied: number;
  /** Where the next page begins; undefined after the last. */
  readonly next: KeptPlace | undefined;
}

/** Reports that may wait to be recorded, of all providers together. */
const MAX_WAITING = 20_000;

interface DeliveryReportsOptions {
  /** Whether reports that failed together with an error may pass one by one; not while the database is away. */
  readonly mayPassAlone: (error: unknown) => boolean;
  /** Whether an error says that the database is away, and not that a report is wrong. */
  readonly isFault: (error: unknown) => boolean;
  /** Keeps reports while the database is away. */
  readonly spool: ReportSpool;
  readonly progress: Pick<ReportStore, 'spoolAppliedTo' | 'noteSpoolApplied' | 'forgetSpool'>;
  readonly logger: Logger;
}

/**
 * Takes delivery reports from all providers (R15), many in one transaction. While the database is away they are
 * kept on this host's disk instead, and applied in the order in which they came.
 */
export class DeliveryReports {
  readonly #uow: UnitOfWork;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #mayPassAlone: (error: unknown) => boolean;
  readonly #spooled: SpooledReports<ProviderReport>;
  /** Says of each whether its sid was known. */
  readonly #batches: Batcher<ProviderReport, Taken>;
  /** How far `matchKept` looks back. */
  #lookBackMs = KEPT_MS;

  constructor(uow: UnitOfWork, clock: Clock, ids: Ids, options: DeliveryReportsOptions) {
    this.#uow = uow;
    this.#clock = clock;
    this.#ids = ids;
    this.#mayPassAlone = options.mayPassAlone;
    this.#spooled = new SpooledReports({
      ...options,
      uow,
      now: () => clock.now(),
      record: (reports) => this.#record(reports),
      // They wait for the message to their number as if they had come now: its sid may have had to wait as well.
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
      // What is refused as a whole is refused one by one, too.
      isolate: (error) => !(error instanceof DomainError) && options.mayPassAlone(error),
    });
  }

  /**
   * Resolves once the reports are recorded, or kept on this host's disk until they can be; one whose sid nobody knows
   * yet is kept until it is known. Throws `service_unavailable` where neither is possible.
   */
  async take(provider: string, reports: readonly DeliveryReport[]): Promise<void> {
    await this.#add(reports.map((report) => ({ provider, report: sanitizeReport(report) })));
  }

  /** Takes those whose sid is known and keeps nothing of the others, nor of those that change nothing; how many are not known. */
  async takeKnown(provider: string, reports: readonly DeliveryReport[]): Promise<number> {
    const taken = await this.#add(
      reports.map((report) => ({ provider, report: sanitizeReport(report), isForKnownOnly: true })),
    );
    return taken.filter((isKnown) => !isKnown).length;
  }

  /** Applies what waits on the disk, the oldest first; rejects while the database is away. */
  replay(): Promise<void> {
    return this.#spooled.replay();
  }

  /** Takes over what processes that are gone left on the disk: before any other report is taken, and now and then. */
  adopt(): Promise<void> {
    return this.#spooled.adopt();
  }

  /**
   * Applies kept reports whose sid became known in the meantime; how many were. One that cannot be applied keeps none of
   * the others: the rest is applied, and then this rejects with the first fault.
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

  /** Applies kept reports, `limit` at the most: together, or one by one where one of them may be to blame. */
  async #applyKept(after: KeptPlace, limit: number, faults: unknown[]): Promise<KeptPage> {
    let seen: readonly StoredReport[] = [];
    let applied = 0;
    try {
      applied = await this.#uow.run(async (tx) => {
        const now = this.#clock.now();
        seen = await tx.reports.lockMatchable(after, limit);
        const unknown = await applyReports(tx, this.#ids, seen, now);
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

/** When each of these reports came. */
function receivedAtOf(reports: readonly KeptReport[]): (report: DeliveryReport) => Date {
  const times = new Map(reports.map(({ report, receivedAt }) => [report, receivedAt]));
  return (report) => times.get(report) ?? new Date();
}

/**
 * Applies reports inside a transaction; returns those whose sid is unknown, which are kept where they may be. `timeOf` a
 * report is when it takes effect: now, unless it says otherwise.
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
  // One that names another number stays as old as it is, or it would be looked at again for ever.
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
    // A text of several parts is delivered when its last part is.
    if (match.report.status !== 'failed' && !match.complete) continue;
    moves.set(match, moveOf(match, timeOf(match.report)));
  }
  const { messages, done } = await transitionRecipients(tx, ids, messageIds, [...moves.values()], now);
  const reads = [...moves.keys()].filter((match) => match.report.status === 'read');
  const read = await applyReads(tx, ids, messages, reads, ({ report }) => timeOf(report), now);
  const late = [...moves]
    // Whoever knows one sid could fill the timeline with it.
    .filter(([match, move]) => !done.has(move) && !read.has(match) && !passing.has(match.report))
    .map(([match]) => lateNote(match, messages, timeOf(match.report)));
  const notes = late.filter((note) => note !== undefined);
  await tx.messages.note(notes, NOTED_ALIKE);
  announceMessages(tx, messages, notes);
  return unknown;
}

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

/** A late or repeated report changes nothing and is kept in the timeline (R13). */
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
