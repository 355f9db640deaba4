import { redactContent, redactEnvelope } from '../../domain/messages/redact-content.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { AgedMessage, RetentionLane, RetentionProgress } from '../../domain/ports/sweep-stores.ts';
import type { Clock } from '../../domain/ports/system.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';

const DAY_MS = 24 * 3_600_000;
/** Messages of one transaction: their rows are locked for some ten milliseconds. */
const BATCH = 200;
/** Batches of one round: a process that is to stop does not wait long for it. */
const BATCHES = 100;
/** A provider speaks of a message for 72 hours at the most (R14); what comes later finds nothing. */
const REPORTS_MS = 7 * DAY_MS;

/**
 * Forgets, in small transactions that take no account's lock: the texts of messages that their account keeps for a
 * limited time, then the messages, oldest first, by their dense number in the account and channel.
 *
 * **Text**: content and payload, the carriers' words on recipients, notes, the endpoints' answers, and every text in
 * the events that KEPT_MEMBERS of redact-content.ts does not name. A message is left alone while it is pending or an event of it is being
 * delivered, so that every attempt of a delivery carries the same bytes; it waits, and its turn comes when that has
 * ended. Answers kept for idempotency expire after 24 hours, before any text's time comes.
 *
 * **Message**: with its recipients, notes, sids, events and deliveries. Only a beginning of the sequence is removed,
 * so that histories stay ranges of numbers: behind a message that is still under way the others wait. The ledger and
 * the counts of usage stay.
 *
 * Rows are deleted and not whole partitions dropped: each account has its own days, and one process erases some 9,000
 * and removes some 12,000 messages a second on two cores, while 5 million a day are 58 a second.
 */
export class Retention {
  readonly #uow: UnitOfWork;
  readonly #stores: Pick<Stores, 'retention' | 'sweeps'>;
  readonly #clock: Clock;

  constructor(uow: UnitOfWork, stores: Pick<Stores, 'retention' | 'sweeps'>, clock: Clock) {
    this.#uow = uow;
    this.#stores = stores;
    this.#clock = clock;
  }

  /** One round: every account in turn, batch by batch, until nothing is left or the round's share is done. */
  async run(): Promise<void> {
    while ((await this.#stores.sweeps.forgetExpiredClaims(BATCH)) === BATCH);
    await this.#eraseWaiting();
    let lanes = await this.#stores.retention.due(this.#clock.now());
    let left = BATCHES;
    while (lanes.length > 0 && left > 0) {
      const busy: RetentionLane[] = [];
      for (const lane of lanes.slice(0, left)) {
        left -= 1;
        if (await this.#advance(lane)) busy.push(lane);
      }
      lanes = busy;
    }
    await this.#forgetReports();
  }

  /** One batch of a lane; true when there may be more. */
  #advance(lane: RetentionLane): Promise<boolean> {
    return this.#uow.run(async (tx) => {
      const progress = await tx.retention.claim(lane);
      if (!progress) return false;
      const erased = await this.#erase(tx, progress);
      const removed = await this.#remove(tx, { ...progress, erasedSeq: progress.erasedSeq + erased });
      return erased === BATCH || removed === BATCH;
    });
  }

  async #erase(tx: Tx, progress: RetentionProgress): Promise<number> {
    // A message takes its text with it.
    const days = progress.contentDays ?? progress.messageDays;
    if (days === null) return 0;
    const aged = await tx.retention.aged(progress, progress.erasedSeq, this.#daysAgo(days), BATCH);
    const last = aged.at(-1);
    if (!last) return 0;
    const erased = await eraseQuiet(tx, aged);
    await tx.retention.wait(aged.map(({ id }) => id).filter((id) => !erased.has(id)));
    await tx.retention.advance(progress, { erasedSeq: last.seq });
    return aged.length;
  }

  async #remove(tx: Tx, progress: RetentionProgress): Promise<number> {
    const { messageDays, removedSeq, erasedSeq } = progress;
    if (messageDays === null) return 0;
    const limit = Math.min(BATCH, erasedSeq - removedSeq);
    const aged = await tx.retention.aged(progress, removedSeq, this.#daysAgo(messageDays), limit);
    const ids = aged.map(({ id }) => id);
    const waiting = await tx.retention.areWaiting(ids);
    const delivering = await tx.retention.delivering(ids);
    const stop = aged.findIndex(({ id, isPending }) => isPending || waiting.has(id) || delivering.has(id));
    const gone = stop === -1 ? aged : aged.slice(0, stop);
    const last = gone.at(-1);
    if (!last) return 0;
    await tx.retention.remove(gone.map(({ id }) => id));
    await tx.retention.advance(progress, { removedSeq: last.seq });
    return gone.length;
  }

  /** The messages that were under way when their time came. */
  async #eraseWaiting(): Promise<void> {
    for (let afterId: string | undefined = FIRST_UUID; afterId !== undefined; ) {
      const from: string = afterId;
      afterId = await this.#uow.run(async (tx) => {
        const found = await tx.retention.waiting(this.#clock.now(), from, BATCH);
        await tx.retention.stopWaiting([...(await eraseQuiet(tx, found))]);
        return found.length === BATCH ? found.at(-1)?.id : undefined;
      });
    }
  }

  /** Sids that no report can name any more, and reports that no sid will come for. */
  async #forgetReports(): Promise<void> {
    const before = new Date(this.#clock.now().getTime() - REPORTS_MS);
    for (const isScheduled of [false, true]) {
      const name = isScheduled ? 'sids-scheduled' : 'sids';
      for (let left = BATCHES; left > 0; left--) {
        const mayHaveMore = await this.#uow.run(async (tx) => {
          const mark = await tx.sweeps.claim(name);
          const next = mark && (await tx.retention.forgetSids(isScheduled, mark, before, BATCH));
          if (next) await tx.sweeps.advance(name, next);
          return next !== undefined;
        });
        if (!mayHaveMore) break;
      }
    }
    while ((await this.#stores.retention.forgetReports(before, BATCH)) === BATCH);
  }

  #daysAgo(days: number): Date {
    return new Date(this.#clock.now().getTime() - days * DAY_MS);
  }
}

/** Takes the text of the messages that are not under way; returns which. */
async function eraseQuiet(tx: Tx, messages: readonly AgedMessage[]): Promise<ReadonlySet<string>> {
  const settled = messages.filter(({ isPending }) => !isPending);
  const delivering = await tx.retention.delivering(settled.map(({ id }) => id));
  const quiet = settled.filter(({ id }) => !delivering.has(id));
  if (quiet.length === 0) return new Set();
  const events = await tx.retention.events(quiet.map(({ id }) => id));
  await tx.retention.erase(
    new Map(quiet.map(({ id, payload }) => [id, payload && redactContent(payload)])),
    events.map((event) => ({ ...event, body: redactEnvelope(event.body) })),
  );
  return new Set(quiet.map(({ id }) => id));
}
