import { redactContent, redactEnvelope } from '../../domain/messages/redact-content.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { AgedMessage, RetentionLane, RetentionProgress } from '../../domain/ports/sweep-stores.ts';
import type { Clock } from '../../domain/ports/system.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';

const DAY_MS = 24 * 3_600_000;
/** Number of messages in one transaction. It locks their rows for about 10 ms. */
const BATCH = 200;
/** Number of batches in one round. It is bounded, so that a stopping process need not wait long. */
const BATCHES = 100;
/**
 * Age in ms at which sids are deleted. Delivery reports arrive within 72 hours (R14), so no report can match an older
 * sid.
 */
const REPORTS_MS = 7 * DAY_MS;
/**
 * How long an inbound message without an account is stored, in ms. This is long enough to recognise a repeated
 * callback.
 */
const OWNERLESS_INBOUND_MS = 7 * DAY_MS;

/** How long a STOP finds the account whose message to the person was deleted, in ms (R533, R559). */
const WRITERS_MS = 730 * DAY_MS;

/**
 * Erases and deletes messages of accounts with a retention period, in the order of `seq`. It works in small
 * transactions that do not lock the account.
 *
 * **Erasing** removes content and payload, the carriers' texts about recipients, notes, and the endpoints' answers. In
 * events, it removes every text that KEPT_MEMBERS of redact-content.ts does not name. The content of pending messages,
 * and of messages with a delivery in progress, is erased later. So all attempts of a delivery have the same bytes.
 * Stored answers of idempotency keys expire earlier, after 24 hours.
 *
 * **Deleting** removes the message with its recipients, notes, sids, events and deliveries. Messages are deleted
 * strictly in order, so that the rest stays a range of numbers. Therefore some messages delay the deletion of the
 * messages after them: a message in progress, a message with a deferred refund, and a message that the analytics do not
 * contain yet. The ledger, the usage and the analytics stay.
 *
 * **Inbound messages** are erased and deleted after the same number of days, counted from when they were sent. An
 * inbound message without an account is deleted after 7 days, because nobody can read it (R257).
 *
 * Rows are deleted, not whole partitions, because each account has its own period. One process erases about 9,000 and
 * deletes about 12,000 messages a second on two cores. 5 million a day are 58 a second.
 */
export class Retention {
  readonly #uow: UnitOfWork;
  readonly #stores: Pick<Stores, 'retention' | 'sweeps' | 'analytics'>;
  readonly #clock: Clock;

  constructor(uow: UnitOfWork, stores: Pick<Stores, 'retention' | 'sweeps' | 'analytics'>, clock: Clock) {
    this.#uow = uow;
    this.#stores = stores;
    this.#clock = clock;
  }

  /** Runs one round: one batch of each account and channel in turn, until nothing is left or `BATCHES` are done. */
  async run(): Promise<void> {
    while ((await this.#stores.sweeps.forgetExpiredClaims(BATCH)) === BATCH);
    await this.#eraseWaiting();
    let lanes = await this.#stores.retention.due(this.#clock.now());
    // A message may be deleted only when the analytics contain it (R292).
    if (lanes.length > 0) await this.#stores.analytics.fold();
    let left = BATCHES;
    while (lanes.length > 0 && left > 0) {
      const busy: RetentionLane[] = [];
      for (const lane of lanes.slice(0, left)) {
        left -= 1;
        if (await this.#advance(lane)) busy.push(lane);
      }
      lanes = busy;
    }
    await this.#forgetInbound();
    await this.#forgetReports();
  }

  /** Runs one batch of a lane, which is one channel of an account. Returns true if there may be more to do. */
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
    // If only `messageDays` is set, the content is erased at that age, too. It must not wait for the deletion: a
    // message in progress may be deleted much later.
    const days = progress.contentDays ?? progress.messageDays;
    if (days === null) return 0;
    const aged = await tx.retention.aged(progress, progress.erasedSeq, this.#daysAgo(days), BATCH);
    const last = aged.at(-1);
    if (!last) return 0;
    const erased = await eraseSettled(tx, aged);
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
    // A deferred refund keeps its message: analytics need the recipient when they count the refund.
    const refunding = await tx.refunds.withDeferred(ids);
    const isHeld = ({ id, isPending }: AgedMessage) =>
      isPending || waiting.has(id) || delivering.has(id) || refunding.has(id);
    const stop = aged.findIndex(isHeld);
    const gone = stop === -1 ? aged : aged.slice(0, stop);
    const last = gone.at(-1);
    if (!last) return 0;
    await tx.retention.remove(gone.map(({ id }) => id));
    await tx.retention.advance(progress, { removedSeq: last.seq });
    return gone.length;
  }

  /** Erases the messages that were still in progress when they reached the age for erasing. */
  async #eraseWaiting(): Promise<void> {
    for (let afterId: string | undefined = FIRST_UUID; afterId !== undefined; ) {
      const from: string = afterId;
      afterId = await this.#uow.run(async (tx) => {
        const found = await tx.retention.waiting(this.#clock.now(), from, BATCH);
        await tx.retention.stopWaiting([...(await eraseSettled(tx, found))]);
        return found.length === BATCH ? found.at(-1)?.id : undefined;
      });
    }
  }

  async #forgetInbound(): Promise<void> {
    const { retention } = this.#stores;
    const now = this.#clock.now();
    const ownerlessBefore = new Date(now.getTime() - OWNERLESS_INBOUND_MS);
    for (const step of [
      () => retention.eraseInbound(now, BATCH),
      () => retention.removeInbound(now, ownerlessBefore, BATCH),
    ]) {
      for (let left = BATCHES; left > 0 && (await step()) >= BATCH; left--);
    }
  }

  /** Deletes sids that no report can match any more, reports that matched no message, and old writers. */
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
    const { retention } = this.#stores;
    while ((await retention.forgetReports(before, BATCH)) === BATCH);
    const writersBefore = new Date(this.#clock.now().getTime() - WRITERS_MS);
    while ((await retention.forgetSmsWriters(writersBefore, BATCH)) === BATCH);
    while ((await retention.forgetWhatsAppWriters(writersBefore, BATCH)) === BATCH);
  }

  #daysAgo(days: number): Date {
    return new Date(this.#clock.now().getTime() - days * DAY_MS);
  }
}

/** Erases those messages that are not in progress. Returns their ids. */
async function eraseSettled(tx: Tx, messages: readonly AgedMessage[]): Promise<ReadonlySet<string>> {
  const settled = messages.filter(({ isPending }) => !isPending);
  const delivering = await tx.retention.delivering(settled.map(({ id }) => id));
  const erasable = settled.filter(({ id }) => !delivering.has(id));
  if (erasable.length === 0) return new Set();
  const events = await tx.retention.events(erasable.map(({ id }) => id));
  await tx.retention.erase(
    new Map(erasable.map(({ id, payload }) => [id, payload && redactContent(payload)])),
    events.map((event) => ({ ...event, body: redactEnvelope(event.body) })),
  );
  return new Set(erasable.map(({ id }) => id));
}
