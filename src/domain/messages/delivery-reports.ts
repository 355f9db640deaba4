import { Batcher } from '../batcher.ts';
import type { DeliveryReport } from '../ports/provider.ts';
import type { MatchedReport } from '../ports/report-store.ts';
import type { RecipientMove, TimelineNote, Tx, UnitOfWork } from '../ports/stores.ts';
import type { Clock, Ids } from '../ports/system.ts';
import { announceMessages } from './announce-messages.ts';
import { applyMoves } from './apply-moves.ts';
import { applyReads } from './apply-reads.ts';
import type { Message } from './message.ts';
import { storableReport } from './provider-words.ts';

/**
 * Whoever learns a sid takes the reports that wait for it. Only what was being kept at that moment is missed, and looked
 * for afterwards, so long after it came; clocks may differ by as much. A process that begins looks for all that are
 * kept (decision 15): the one that missed one may have ended just then.
 */
const MISSED_MS = 10 * 60_000;
const KEPT_MS = 24 * 3_600_000;
/** Reports of a recipient that change nothing are noted so many times: some carriers repeat theirs for days. */
const NOTED_ALIKE = 8;

interface ProviderReport {
  readonly provider: string;
  readonly report: DeliveryReport;
  /** Nothing is kept of it where nobody knows its sid, nor where it changes nothing. */
  readonly isForKnownOnly?: boolean;
  /** Now when absent. */
  readonly receivedAt?: Date;
}

/** Takes delivery reports from all providers (decision 15), many in one transaction. */
export class DeliveryReports {
  readonly #uow: UnitOfWork;
  readonly #clock: Clock;
  readonly #ids: Ids;
  /** Says of each whether its sid was known. */
  readonly #batches: Batcher<ProviderReport, boolean>;
  /** How far `matchKept` looks back. */
  #lookBackMs = KEPT_MS;

  /** `mayPassAlone`: whether reports that failed together with an error may pass one by one; not while the database is away. */
  constructor(uow: UnitOfWork, clock: Clock, ids: Ids, mayPassAlone: (error: unknown) => boolean) {
    this.#uow = uow;
    this.#clock = clock;
    this.#ids = ids;
    this.#batches = new Batcher((reports) => this.#record(reports), {
      maxWeight: 500,
      isolate: mayPassAlone,
    });
  }

  /** Resolves once the reports are recorded; one whose sid nobody knows yet is kept until it is known. */
  async take(provider: string, reports: readonly DeliveryReport[]): Promise<void> {
    await Promise.all(
      reports.map((report) => this.#batches.add({ provider, report: storableReport(report) })),
    );
  }

  /** Takes those whose sid is known and keeps nothing of the others, nor of those that change nothing; how many are not known. */
  async takeKnown(provider: string, reports: readonly DeliveryReport[]): Promise<number> {
    const taken = reports.map((report) =>
      this.#batches.add({ provider, report: storableReport(report), isForKnownOnly: true }),
    );
    return (await Promise.all(taken)).filter((isKnown) => !isKnown).length;
  }

  /** Applies kept reports whose sid became known in the meantime. */
  async matchKept(): Promise<number> {
    const count = await this.#uow.run(async (tx) => {
      const since = new Date(this.#clock.now().getTime() - this.#lookBackMs);
      const reports = await tx.reports.takeMatchable(since);
      await applyReports(tx, this.#ids, reports, this.#clock.now());
      return reports.length;
    });
    this.#lookBackMs = MISSED_MS;
    return count;
  }

  drain(): Promise<void> {
    return this.#batches.drain();
  }

  #record(reports: readonly ProviderReport[]): Promise<boolean[]> {
    return this.#uow.run(async (tx) => {
      const unknown = await applyReports(tx, this.#ids, reports, this.#clock.now());
      return reports.map(({ report }) => !unknown.has(report));
    });
  }
}

/** Applies reports inside a transaction; returns those whose sid is unknown, which are kept where they may be. */
export async function applyReports(
  tx: Tx,
  ids: Ids,
  reports: readonly ProviderReport[],
  now: Date,
): Promise<ReadonlySet<DeliveryReport>> {
  const matched: MatchedReport[] = [];
  const unknown = new Set<DeliveryReport>();
  const passing = new Set(reports.flatMap(({ report, isForKnownOnly }) => (isForKnownOnly ? [report] : [])));
  for (const [provider, own] of Map.groupBy(reports, (report) => report.provider)) {
    const result = await tx.reports.match(
      provider,
      own.map(({ report }) => report),
    );
    matched.push(...result.matched);
    for (const report of result.unmatched) unknown.add(report);
  }
  // One that names another number stays as old as it is, or it would be looked at again for ever.
  const kept = reports.filter(({ report }) => unknown.has(report) && !passing.has(report));
  await tx.reports.keepUnmatched(
    kept.map(({ provider, report, receivedAt = now }) => ({ provider, report, receivedAt })),
  );
  if (matched.length === 0) return unknown;
  const messageIds = [...new Set(matched.map((match) => match.messageId))];
  const moves = new Map<MatchedReport, RecipientMove>();
  for (const match of matched) {
    // A text of several parts is delivered when its last part is.
    if (match.report.status !== 'failed' && !match.complete) continue;
    moves.set(match, moveOf(match, now));
  }
  const { messages, done } = await applyMoves(tx, ids, messageIds, [...moves.values()], now);
  const reads = [...moves.keys()].filter((match) => match.report.status === 'read');
  const read = await applyReads(tx, ids, messages, reads, now);
  const late = [...moves]
    // Whoever knows one sid could fill the timeline with it.
    .filter(([match, move]) => !done.has(move) && !read.has(match) && !passing.has(match.report))
    .map(([match]) => lateNote(match, messages, now));
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

/** A late or repeated report changes nothing and is kept in the timeline (decision 13). */
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
