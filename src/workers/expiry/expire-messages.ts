import { expireHeld } from '../../domain/limits/end-held.ts';
import { rulesOf } from '../../domain/messages/channels/rules-of.ts';
import {
  type Message,
  type Purpose,
  REPORT_DEADLINE_MS,
  SUBMIT_DEADLINE_MS,
} from '../../domain/messages/message.ts';
import { HELD_MAX_MS } from '../../domain/messages/quiet-hours.ts';
import {
  REFUND_PENDING,
  settleRefunds,
  transitionRecipients,
} from '../../domain/messages/transition-recipients.ts';
import type { RecipientMove } from '../../domain/ports/message-stores.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import { FIRST_UUID, uuidFloor } from '../../domain/uuid.ts';

const HOUR_MS = 3_600_000;
const BATCH = 500;
/**
 * Time in ms after the deadline in which outcomes may still be recorded: a submission may begin just before the
 * deadline.
 */
const GRACE_MS = 15 * 60_000;

/** A periodic pass over the messages with this status whose send time was at least `ageMs` ago. */
interface Sweep {
  readonly name: string;
  readonly status: 'pending' | 'sent';
  readonly ageMs: number;
  /** If it is set, the sweep visits only messages of this purpose. */
  readonly purpose?: Purpose;
  readonly work: (tx: Tx, found: readonly Message[]) => Promise<void>;
}

/**
 * Makes sure that every message ends (R14). Jobs end nearly all messages. These sweeps find the messages that no job
 * refers to any more. A sweep visits each message once, `ageMs` after its send time.
 */
export class ExpireMessages {
  readonly #uow: UnitOfWork;
  readonly #stores: Stores;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(uow: UnitOfWork, stores: Stores, clock: Clock, ids: Ids) {
    this.#uow = uow;
    this.#stores = stores;
    this.#clock = clock;
    this.#ids = ids;
  }

  /**
   * Runs each sweep once, and pays the deferred refunds that are due. A sweep that fails stops nothing else. Throws at
   * the end what failed.
   */
  async run(): Promise<void> {
    const expire = (tx: Tx, found: readonly Message[]) => this.#expire(tx, found);
    const markUnconfirmed = (tx: Tx, found: readonly Message[]) => this.#markUnconfirmed(tx, found);
    const sweeps: Sweep[] = [
      { name: 'expired', status: 'pending', ageMs: SUBMIT_DEADLINE_MS + GRACE_MS, work: expire },
      { name: 'unconfirmed', status: 'sent', ageMs: REPORT_DEADLINE_MS, work: markUnconfirmed },
      // This sweep visits messages that a carrier accepted only after retries. The sweep `unconfirmed` visited them too
      // early.
      {
        name: 'unconfirmed-late',
        status: 'sent',
        ageMs: REPORT_DEADLINE_MS + SUBMIT_DEADLINE_MS + HOUR_MS,
        work: markUnconfirmed,
      },
      // These sweeps visit marketing again: the sweeps above came too early if quiet hours held it (R385).
      {
        name: 'expired-held',
        status: 'pending',
        ageMs: SUBMIT_DEADLINE_MS + GRACE_MS + HELD_MAX_MS,
        purpose: 'marketing',
        work: expire,
      },
      {
        name: 'unconfirmed-held',
        status: 'sent',
        ageMs: REPORT_DEADLINE_MS + SUBMIT_DEADLINE_MS + HOUR_MS + HELD_MAX_MS,
        purpose: 'marketing',
        work: markUnconfirmed,
      },
    ];
    const tasks = [
      ...sweeps.flatMap((sweep) => [
        () => this.#sweep(sweep, false),
        () => this.#sweep({ ...sweep, name: `${sweep.name}-scheduled` }, true),
      ]),
      () => this.#expireHeld(),
      () => this.#endAllReviewed(),
      () => this.#settleRefunds(),
      () => this.#forgetExpiredClaims(),
    ];
    const errors: unknown[] = [];
    for (const task of tasks) await task().catch((error: unknown) => errors.push(error));
    if (errors.length > 1)
      throw new AggregateError(errors, `${errors.length} of ${tasks.length} sweeps failed`);
    if (errors.length === 1) throw errors[0];
  }

  async #expireHeld(): Promise<void> {
    while ((await this.#uow.run((tx) => expireHeld(tx, this.#ids, BATCH, this.#clock.now()))) > 0);
  }

  async #endAllReviewed(): Promise<void> {
    while ((await this.#uow.run((tx) => this.#endReviewed(tx))) === BATCH);
  }

  async #settleRefunds(): Promise<void> {
    while ((await this.#uow.run((tx) => settleRefunds(tx, BATCH, this.#clock.now()))) === BATCH);
  }

  async #forgetExpiredClaims(): Promise<void> {
    while ((await this.#stores.sweeps.forgetExpiredClaims(BATCH)) === BATCH);
  }

  async #sweep({ name, status, ageMs, purpose, work }: Sweep, isScheduled: boolean): Promise<void> {
    let mayHaveMore = true;
    while (mayHaveMore) {
      mayHaveMore = await this.#uow.run(async (tx) => {
        const mark = await tx.sweeps.claim(name);
        if (!mark) return false;
        const before = new Date(this.#clock.now().getTime() - ageMs);
        const found = await tx.messages.agedBefore(status, isScheduled, mark, before, BATCH, purpose);
        await work(tx, found);
        const last = found.at(-1);
        const isFull = found.length === BATCH;
        await tx.sweeps.advance(
          name,
          isFull && last
            ? { at: last.scheduledFor ?? last.createdAt, id: last.id }
            : { at: before, id: isScheduled ? FIRST_UUID : uuidFloor(before) },
        );
        return isFull;
      });
    }
  }

  /**
   * The sweeps came too early for messages that waited for a review (R395). So each is visited once more when its
   * deadlines after the review have passed.
   */
  async #endReviewed(tx: Tx): Promise<number> {
    const before = new Date(this.#clock.now().getTime() - SUBMIT_DEADLINE_MS - REPORT_DEADLINE_MS - HOUR_MS);
    const decided = await tx.held.takeDecided(before, BATCH);
    const released = decided.filter(({ isReleased }) => isReleased).map(({ messageId }) => messageId);
    const messages = [...(await tx.messages.lock(released)).values()];
    await this.#expire(
      tx,
      messages.filter(({ status }) => status === 'pending'),
    );
    await this.#markUnconfirmed(
      tx,
      messages.filter(({ status }) => status === 'sent'),
    );
    return decided.length;
  }

  async #expire(tx: Tx, found: readonly Message[]): Promise<void> {
    const now = this.#clock.now();
    const due = found.filter((message) => message.expiresAt.getTime() + GRACE_MS <= now.getTime());
    if (due.length === 0) return;
    const messages = await tx.messages.lock(due.map((message) => message.id));
    const recipients = await tx.messages.recipients([...messages.keys()]);
    const moves = recipients
      .filter((recipient) => recipient.status === 'pending')
      .map(
        (recipient): RecipientMove => ({
          messageId: recipient.messageId,
          position: recipient.position,
          from: 'pending',
          to: 'failed',
          at: now,
          provider: null,
          sids: [],
          error: { code: 'expired', message: 'No carrier accepted it before its deadline.' },
          // The last attempt may have sent the message. If it had certainly sent nothing, the recipient would not be
          // claimed.
          possiblySent: recipient.attempts > 0 && recipient.isClaimed,
        }),
      );
    await transitionRecipients(tx, this.#ids, [...messages.keys()], moves, now);
  }

  async #markUnconfirmed(tx: Tx, found: readonly Message[]): Promise<void> {
    const cutoff = new Date(this.#clock.now().getTime() - REPORT_DEADLINE_MS);
    const open = found.filter(
      ({ statusReason, channel }) =>
        (statusReason === null || statusReason === REFUND_PENDING) && !rulesOf(channel).hasNoReports,
    );
    if (open.length === 0) return;
    const recipients = await tx.messages.recipients(open.map((message) => message.id));
    const tooRecent = new Set(
      recipients
        .filter((recipient) => recipient.status === 'sent' && recipient.sentAt && recipient.sentAt > cutoff)
        .map((recipient) => recipient.messageId),
    );
    const due = open.filter((message) => !tooRecent.has(message.id));
    const ids = due.map((message) => message.id);
    await tx.messages.setStatusReason(ids, 'delivery_unconfirmed');
    tx.announceLive('message', due);
  }
}
