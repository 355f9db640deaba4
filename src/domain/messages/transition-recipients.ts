import type { MeasuredMove } from '../ports/measurements.ts';
import type {
  DeferredRefund,
  LockedMessage,
  MovedRecipient,
  RecipientMove,
  StatusCounts,
  StatusMove,
  TimelineNote,
} from '../ports/message-stores.ts';
import type { KeptReport, SidRow } from '../ports/report-stores.ts';
import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import { settleAll } from '../settle-all.ts';
import type { NewEvent } from '../webhooks/event.ts';
import { recordEvents } from '../webhooks/fan-out.ts';
import { rulesOf } from './channels/rules-of.ts';
import { type Channel, type MessageStatus, REPORT_DEADLINE_MS } from './message.ts';
import { announceMessages } from './message-events.ts';
import { canMove, messageStatus } from './status.ts';

/** The `statusReason` of a message with a deferred refund (R218). */
export const REFUND_PENDING = 'refund_pending';
const ACCEPTED_LATE =
  'A carrier reports that it had accepted this recipient before the failure. It may have been delivered and is not refunded.';

type Refund = Parameters<Tx['accounts']['credit']>[0][number];

interface Applied {
  /** The locked messages, as they were before the changes of status. */
  readonly messages: ReadonlyMap<string, LockedMessage>;
  /** The changes of status that were made. The other changes came too late. */
  readonly done: ReadonlySet<RecipientMove>;
  /** Delivery reports that arrived before the sids of these moves were stored (R15). The caller applies them now. */
  readonly early: readonly KeptReport[];
}

/**
 * Changes the status of recipients. No other code does. Each of `moves` is one change of one recipient's status. In
 * `tx` it locks the messages and changes the status of recipients and messages. It refunds recipients that no carrier
 * accepted (R17), stores the sids, and records the events with their webhook deliveries.
 *
 * Events and refunds get the time `now`, not the time of the change. Otherwise a client that polls by time would miss
 * an event with a time in the past.
 */
export async function transitionRecipients(
  tx: Tx,
  ids: Ids,
  messageIds: readonly string[],
  moves: readonly RecipientMove[],
  now: Date,
): Promise<Applied> {
  const allowed = firstOfEach(moves.filter((move) => canMove(move.from, move.to)));
  const { messages, moved } = await tx.messages.lockAndMove(messageIds, allowed);
  const byRecipient = new Map(moved.map((recipient) => [key(recipient), recipient]));
  const done = new Map<RecipientMove, MovedRecipient>();
  const events: NewEvent[] = [];
  const refunds: Refund[] = [];
  const deferred: DeferredRefund[] = [];
  for (const move of allowed) {
    const recipient = byRecipient.get(key(move));
    const message = messages.get(move.messageId);
    if (!recipient || !message) continue;
    done.set(move, recipient);
    const event =
      message.environment === 'production' &&
      rulesOf(message.channel).moveEvent?.(message, move, recipient, now);
    if (event) events.push(event);
    if (isRefunded(move, recipient)) {
      const { messageId, position, possiblySent } = move;
      const { accountId } = message;
      const refund = { accountId, messageId, position, amountMinor: recipient.costMinor };
      if (possiblySent) deferred.push(refund);
      else refunds.push(refundEntry(refund, now));
    }
  }
  tx.measurements.moved(
    [...done].flatMap(([move, recipient]) => {
      const message = messages.get(move.messageId);
      return message ? [measuredMove(message.channel, move, recipient)] : [];
    }),
  );
  const statuses = await followStatus(tx, messages, [...done.keys()]);
  events.push(...(await settledEvents(tx, statuses, now)));
  const refunded = await tx.accounts.credit(refunds);
  tx.measurements.refunded(refunded.length);
  await deferRefunds(tx, deferred);
  const late = await keepCharges(
    tx,
    messages,
    allowed.filter((move) => move.to === 'sent' && !done.has(move)),
  );
  const [early] = await settleAll([
    tx.reports.addSids([...done.keys(), ...late].flatMap(sidRows)),
    recordEvents(tx, ids, events),
    tx.analytics.countMoves({
      statuses,
      moves: [...done].flatMap(([move, recipient]) => {
        const message = messages.get(move.messageId);
        return message ? [{ message, move, moved: recipient }] : [];
      }),
    }),
    tx.analytics.countRefunds(refunded),
  ]);
  announceMessages(tx, messages, moved);
  for (const [channel, own] of Map.groupBy(done, ([move]) => messages.get(move.messageId)?.channel)) {
    if (channel) await rulesOf(channel).afterMoves?.(tx, messages, new Map(own), { ids, now });
  }
  return { messages, done: new Set(done.keys()), early };
}

function measuredMove(channel: Channel, move: RecipientMove, recipient: MovedRecipient): MeasuredMove {
  const isReported = move.from === 'sent' && recipient.sentAt !== null;
  return {
    messageId: move.messageId,
    position: move.position,
    at: move.at,
    channel,
    provider: move.provider ?? recipient.provider,
    status: move.to,
    reason: move.error?.code ?? null,
    reportSeconds: isReported ? (move.at.getTime() - recipient.sentAt.getTime()) / 1_000 : null,
  };
}

/**
 * True if the charge of a recipient is refunded: it failed before a carrier accepted it (R17). If a carrier may have
 * accepted it (`possiblySent`), the refund is deferred (R218).
 */
function isRefunded(move: RecipientMove, { costMinor }: MovedRecipient): boolean {
  return move.from === 'pending' && move.to === 'failed' && costMinor > 0;
}

function refundEntry(refund: DeferredRefund, createdAt: Date): Refund {
  return { ...refund, kind: 'refund', reference: null, actor: null, createdAt };
}

/** Defers refunds until a delivery report can no longer arrive (R218), and marks their messages. */
async function deferRefunds(tx: Tx, refunds: readonly DeferredRefund[]): Promise<void> {
  if (refunds.length === 0) return;
  await tx.refunds.defer(refunds, REPORT_DEADLINE_MS);
  await tx.messages.setStatusReason([...new Set(refunds.map(({ messageId }) => messageId))], REFUND_PENDING);
}

/**
 * Cancels deferred refunds. A recipient had failed, and then a carrier reported that it had accepted the message.
 * Returns the changes of status whose refund was canceled.
 */
async function keepCharges(
  tx: Tx,
  messages: ReadonlyMap<string, LockedMessage>,
  accepted: readonly RecipientMove[],
): Promise<readonly RecipientMove[]> {
  if (accepted.length === 0) return [];
  const canceled = await tx.refunds.cancel(
    accepted.map(({ messageId, position, at, provider, sids }) => {
      return { messageId, position, at, provider, sid: sids[0] ?? null };
    }),
  );
  const keys = new Set(canceled.map(key));
  const late = accepted.filter((move) => keys.has(key(move)));
  const notes = late.flatMap(({ messageId, position, at }): TimelineNote[] => {
    const accountId = messages.get(messageId)?.accountId;
    return accountId ? [{ accountId, messageId, position, at, status: 'failed', detail: ACCEPTED_LATE }] : [];
  });
  await tx.messages.note(notes);
  await explainSettled(
    tx,
    late.map(({ messageId }) => messageId),
  );
  return late;
}

/** Pays up to `limit` deferred refunds that are due, each once. Returns how many were due. */
export async function settleRefunds(tx: Tx, limit: number, now: Date): Promise<number> {
  const due = await tx.refunds.takeDue(limit);
  if (due.length === 0) return 0;
  const refunded = await tx.accounts.credit(due.map((refund) => refundEntry(refund, now)));
  tx.measurements.refunded(refunded.length);
  await tx.analytics.countRefunds(refunded);
  tx.announceLive(
    'message',
    due.map(({ accountId, messageId }) => ({ accountId, id: messageId })),
  );
  await explainSettled(
    tx,
    due.map(({ messageId }) => messageId),
  );
  return due.length;
}

/** Clears `REFUND_PENDING` on the messages that have no other deferred refund. */
async function explainSettled(tx: Tx, messageIds: readonly string[]): Promise<void> {
  if (messageIds.length === 0) return;
  const ids = [...new Set(messageIds)];
  const waiting = await tx.refunds.withDeferred(ids);
  await tx.messages.clearStatusReason(
    ids.filter((id) => !waiting.has(id)),
    REFUND_PENDING,
  );
}

function sidRows({ provider, sids, messageId, position }: RecipientMove): SidRow[] {
  if (provider === null) return [];
  const parts = sids.length;
  return sids.map((sid, part) => ({ provider, sid, messageId, position, part, parts }));
}

/** If several changes concern the same recipient, keeps the first one. The others came too late. */
function firstOfEach(moves: readonly RecipientMove[]): RecipientMove[] {
  const taken = new Set<string>();
  return moves.filter((move) => !taken.has(key(move)) && taken.add(key(move)));
}

/** Builds the events of whole messages, on channels that have such events (R24). */
async function settledEvents(tx: Tx, moves: readonly StatusMove[], at: Date): Promise<NewEvent[]> {
  const speaking = moves
    .map(({ message }) => message)
    .filter(({ status, environment }) => status === 'pending' && environment === 'production')
    .filter((message) => rulesOf(message.channel).settledEvent);
  if (speaking.length === 0) return [];
  const recipients = Map.groupBy(
    await tx.messages.recipients(speaking.map((message) => message.id)),
    (recipient) => recipient.messageId,
  );
  return speaking.flatMap(
    (message) => rulesOf(message.channel).settledEvent?.(message, recipients.get(message.id) ?? [], at) ?? [],
  );
}

/** Computes and stores the status of messages after `moves`. Returns the changes of status. */
async function followStatus(
  tx: Tx,
  messages: ReadonlyMap<string, LockedMessage>,
  moves: readonly RecipientMove[],
) {
  const statuses: StatusMove[] = [];
  for (const [id, own] of Map.groupBy(moves, (move) => move.messageId)) {
    const message = messages.get(id);
    if (!message) continue;
    const to = messageStatus(countsAfter(message.counts, own));
    if (message.status !== to) statuses.push({ message, to });
  }
  await tx.messages.countMoves(statuses);
  return statuses;
}

function countsAfter(counts: StatusCounts, moves: readonly RecipientMove[]): StatusCounts {
  const after: Partial<Record<MessageStatus, number>> = { ...counts };
  for (const { from, to } of moves) {
    after[from] = (after[from] ?? 0) - 1;
    after[to] = (after[to] ?? 0) + 1;
  }
  return after;
}

function key(recipient: { messageId: string; position: number }): string {
  return `${recipient.messageId} ${recipient.position}`;
}
