import { redactContent, redactEnvelope } from '../../domain/messages/redact-content.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { AgedMessage, RetentionLane, RetentionProgress } from '../../domain/ports/sweep-stores.ts';
import type { Clock } from '../../domain/ports/system.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';

const DAY_MS = 24 * 3_600_000;
/** Messages of one transaction, which locks their rows for about 10 ms. */
const BATCH = 200;
/** Batches of one round, so that a stopping process waits only briefly. */
const BATCHES = 100;
/** Reports arrive within 72 hours (R14). Older sids match nothing. */
const REPORTS_MS = 7 * DAY_MS;
/** Long enough to recognise a repeated callback by the stored message. */
const OWNERLESS_INBOUND_MS = 7 * DAY_MS;

/**
 * Erases and deletes messages of accounts with a retention, oldest first by `seq`, in small transactions that do not
 * lock the account.
 *
 * **Erasing** removes content and payload, the carriers' texts about recipients, notes, the endpoints' answers, and
 * every text in events that KEPT_MEMBERS of redact-content.ts does not name. Pending messages and messages with a
 * delivery in progress wait, so that all attempts of a delivery have the same bytes. Stored answers of idempotency
 * keys expire after 24 hours, which is earlier.
 *
 * **Deleting** removes the message with its recipients, notes, sids, events and deliveries. Only a prefix of the
 * sequence is deleted, so that histories stay ranges of numbers; messages behind one in progress wait. The ledger
 * and the usage stay.
 *
 * **Inbound messages** are erased and deleted after the same days, counted from when they were sent. Those of no
 * account are deleted after 7 days: nobody can read them (R257).
 *
 * Rows are deleted, not partitions, because each account has its own days. One process erases about 9,000 and
 * deletes about 12,000 messages a second on two cores; 5 million a day are 58 a second.
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

  /** One round: all accounts in turn, one batch each, until nothing is left or the round has had its batches. */
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
    await this.#forgetInbound();
    await this.#forgetReports();
  }

  /** One batch of a lane. Returns true when there may be more. */
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
    // Deleting a message erases its text.
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
    const stop = aged.findIndex(({ id, isPending }) => isPending || waiting.has(id) || delivering.has(id));
    const gone = stop === -1 ? aged : aged.slice(0, stop);
    const last = gone.at(-1);
    if (!last) return 0;
    await tx.retention.remove(gone.map(({ id }) => id));
    await tx.retention.advance(progress, { removedSeq: last.seq });
    return gone.length;
  }

  /** Erases the messages that were in progress when they were due. */
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

  /** Deletes sids that no report can match any more, and reports that never matched. */
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

/** Erases the messages that are not in progress. Returns their ids. */
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
