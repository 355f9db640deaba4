import {
  ACCOUNT_ROLES,
  type Caller,
  type Environment,
  environmentOf,
  listedVisibility,
  refusal,
  type Visibility,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, doneButUnread, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { EMPTY_PAGE, type Page, type PageRequest } from '../paging.ts';
import type { SendAnswer } from '../ports/intake.ts';
import type { MessageFilter, RecipientMove } from '../ports/message-stores.ts';
import { isUuid } from '../uuid.ts';
import { parseMailbox } from './email-address.ts';
import type { Channel, Message, Recipient, TimelineEntry } from './message.ts';
import { parseMsisdn } from './msisdn.ts';
import { SEND_SCOPES, SENDER_ROLES, senderOf } from './send-operation.ts';
import { transitionRecipients } from './transition-recipients.ts';

export interface MessageDetails {
  readonly message: Message;
  readonly recipients: readonly Recipient[];
  readonly timeline: readonly TimelineEntry[];
}

const READ = { scopes: ['READ_MESSAGES'], roles: ACCOUNT_ROLES } as const;

/** Operations that read and cancel messages of any channel. */
export function messageOperations(deps: Dependencies) {
  const { stores } = deps;
  const detailsOf = (visibility: Visibility, id: string, channel?: Channel) =>
    readDetails(stores, visibility, id, channel);

  return {
    /** Returns the stored answer of the send that used this idempotency key in the last 24 hours, if any (R19). */
    replay: operation(
      'message.replay',
      { scopes: Object.values(SEND_SCOPES), roles: SENDER_ROLES },
      async (
        caller,
        input: { channel: Channel; idempotencyKey: string; environment?: Environment | undefined },
      ): Promise<SendAnswer | undefined> => {
        const sender = senderOf(caller);
        const claim = { route: input.channel, key: input.idempotencyKey };
        const environment = environmentOf(sender, input.environment);
        return deps.intake.replay(sender.accountId, environment, claim);
      },
    ),

    /** Cancels a message that no worker has started to submit (R18). */
    cancel: operation(
      'message.cancel',
      { scopes: Object.values(SEND_SCOPES), roles: SENDER_ROLES },
      async (caller, input: { id: string }): Promise<MessageDetails> => {
        await cancelMessage(deps, caller, input.id);
        return detailsOf(visibilityOf(caller), input.id).catch((error) => {
          // The cancellation is committed, and only this read failed. With a plain error, the client would believe that
          // the cancellation failed.
          throw doneButUnread({ messageId: input.id }, error);
        });
      },
    ),

    /**
     * Returns one page of a channel's messages, newest first (R20). `filter.to` may have any form that a send accepts.
     */
    history: operation(
      'message.history',
      READ,
      async (
        caller,
        input: {
          channel: Channel;
          filter: MessageFilter & { readonly environment?: Environment | undefined };
          page: PageRequest;
        },
      ): Promise<Page<Message>> => {
        const { environment, ...filter } = input.filter;
        const to = addressIn(input.channel, filter.to);
        const visibility = listedVisibility(caller, environment);
        if (!visibility) return EMPTY_PAGE;
        return stores.messages.history(visibility, input.channel, { ...filter, to }, input.page);
      },
    ),

    /** Returns one message of any channel, with its recipients and timeline (R20). Throws `not_found`. */
    get: operation(
      'message.get',
      READ,
      async (caller, input: { id: string; channel?: Channel | undefined }): Promise<MessageDetails> => {
        return detailsOf(visibilityOf(caller), input.id, input.channel);
      },
    ),
  };
}

/**
 * Returns one message with its recipients and timeline. Throws `not_found`, also if it belongs to another `channel`.
 */
export async function readDetails(
  stores: Pick<Dependencies['stores'], 'messages'>,
  visibility: Visibility,
  id: string,
  channel?: Channel,
): Promise<MessageDetails> {
  const message = isUuid(id) ? await stores.messages.find(visibility, id) : undefined;
  if (!message || (channel && message.channel !== channel)) throw notFound('Message');
  const recipients = await stores.messages.recipients([message.id]);
  const notes = await stores.messages.timelineNotes(message.id);
  return { message, recipients, timeline: timelineOf(message, recipients, notes) };
}

/**
 * Cancels a message (R18). All recipients that are pending fail with `canceled` and are refunded, without an event.
 * Others may have failed before they left, as those that a carrier refused while the rest was held (R388). Claiming and
 * canceling both lock the message, so it is never both sent and refunded.
 *
 * Throws `not_found`. Throws `forbidden` if the API key may not send on the channel. Throws `message_not_cancelable` if
 * a worker has claimed a recipient or one has left, and always for a sandbox message.
 */
async function cancelMessage(deps: Dependencies, caller: Caller, id: string): Promise<void> {
  const known = isUuid(id) ? await deps.stores.messages.find(visibilityOf(caller), id) : undefined;
  if (!known) throw notFound('Message');
  // Check the scope of this message's channel, because the operation admits a key with the scope of any channel. The
  // roles of members are the same on all channels.
  if (caller.kind === 'api-key') {
    const refused = refusal({ scopes: [SEND_SCOPES[known.channel]] }, caller);
    if (refused) throw refused;
  }
  await deps.uow.run(async (tx) => {
    const messages = await tx.messages.lock([id]);
    const recipients = await tx.messages.recipients([id]);
    const message = messages.get(id);
    const free = recipients.filter(isFree);
    if (
      !message ||
      free.length === 0 ||
      !recipients.every((recipient) => isFree(recipient) || neverLeft(recipient))
    )
      throw notCancelable(message ?? known);
    const at = deps.clock.now();
    if (message.statusReason === 'held_for_review') await tx.held.decide([id], 'canceled', at);
    await transitionRecipients(
      tx,
      deps.ids,
      [id],
      free.map((recipient) => cancellation(recipient, at)),
      at,
    );
  });
}

function isFree(recipient: Recipient): boolean {
  return recipient.status === 'pending' && !recipient.isClaimed;
}

/** True if the recipient failed and certainly no carrier has it. */
function neverLeft({ status, sentAt, refundDueAt }: Recipient): boolean {
  return status === 'failed' && sentAt === null && refundDueAt === null;
}

function notCancelable({ status }: Message): DomainError {
  return new DomainError(
    'message_not_cancelable',
    status === 'pending'
      ? 'The message is being submitted to its carrier and cannot be canceled any more.'
      : `The message is ${status} already and cannot be canceled.`,
    { status },
  );
}

function cancellation({ messageId, position }: Recipient, at: Date): RecipientMove {
  const error = { code: 'canceled', message: 'It was canceled before it left.' };
  return { messageId, position, from: 'pending', to: 'failed', at, provider: null, sids: [], error };
}

/** Converts `filter.to` to the form in which recipients' addresses are stored. Throws `validation_error`. */
function addressIn(channel: Channel, to: string | undefined): string | undefined {
  if (to === undefined || channel === 'push') return to;
  const address = channel === 'email' ? parseMailbox(to)?.address : parseMsisdn(to);
  if (address !== undefined) return address;
  const what = channel === 'email' ? 'email address' : 'phone number';
  throw validationError([{ path: 'to', message: `must be one ${what}` }]);
}

/**
 * Returns the timeline of a message in order of time. It combines the status times of the recipients with the stored
 * notes.
 */
export function timelineOf(
  message: Message,
  recipients: readonly Recipient[],
  notes: readonly (TimelineEntry & { position: number })[],
): TimelineEntry[] {
  const addressOf = new Map(recipients.map((recipient) => [recipient.position, recipient.address]));
  const entries: TimelineEntry[] = [
    ...(message.environment === 'sandbox' ? [] : [{ at: message.createdAt, status: 'pending' }]),
    ...recipients.flatMap((recipient) => momentsOf(recipient)),
    ...notes.map(({ at, status, detail, position }) => {
      const recipient = addressOf.get(position);
      return {
        at,
        status,
        ...(recipient === undefined ? {} : { recipient }),
        ...(detail === undefined ? {} : { detail }),
      };
    }),
  ];
  return entries.sort((left, right) => left.at.getTime() - right.at.getTime());
}

function momentsOf(recipient: Recipient): TimelineEntry[] {
  const { address, sentAt, deliveredAt, readAt, failedAt, error } = recipient;
  return [
    ...(sentAt ? [{ at: sentAt, status: 'sent', recipient: address }] : []),
    ...(deliveredAt ? [{ at: deliveredAt, status: 'delivered', recipient: address }] : []),
    ...(readAt ? [{ at: readAt, status: 'read', recipient: address }] : []),
    ...(failedAt
      ? [{ at: failedAt, status: 'failed', recipient: address, ...(error ? { detail: error.message } : {}) }]
      : []),
  ];
}
