import {
  ACCOUNT_ROLES,
  type Environment,
  environmentOf,
  listedVisibility,
  type Visibility,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { EMPTY_PAGE, type Page, type PageRequest } from '../paging.ts';
import type { MessageFilter } from '../ports/message-stores.ts';
import { isUuid } from '../uuid.ts';
import type { SendAnswer, SendContext } from './accept-message.ts';
import { cancelMessage, SEND_SCOPES } from './cancel-message.ts';
import { parseMailbox } from './email-address.ts';
import type { Channel, Message, Recipient, TimelineEntry } from './message.ts';
import { parseMsisdn } from './msisdn.ts';
import type { PricedSms } from './price-sms.ts';
import { SENDERS, senderOf } from './send-context.ts';
import { type SendRequest, sendOperation } from './send-operation.ts';
import { prepareSms, type SendSmsInput, sendSms } from './send-sms.ts';
import { type UnicodeCharacter, unicodeCharacters } from './sms-text.ts';

type SendSmsRequest = SendRequest<SendSmsInput>;

export interface MessageDetails {
  readonly message: Message;
  readonly recipients: readonly Recipient[];
  readonly timeline: readonly TimelineEntry[];
}

/** What an SMS would cost, and what would become of its text and numbers (R21). */
export interface SmsQuote {
  readonly priced: PricedSms;
  readonly unicodeCharacters: readonly UnicodeCharacter[];
  /** What the same send would be charged: 0 in the sandbox. */
  readonly costMinor: number;
  readonly currency: string;
  readonly balanceMinor: number;
  readonly environment: Environment;
}

const READ = { scopes: ['READ_MESSAGES'], roles: ACCOUNT_ROLES } as const;

/** Sending, and knowing what became of it. */
export function messageOperations(deps: Dependencies, context: SendContext) {
  const { stores } = deps;
  async function detailsOf(visibility: Visibility, id: string, channel?: Channel): Promise<MessageDetails> {
    const message = isUuid(id) ? await stores.messages.find(visibility, id) : undefined;
    if (!message || (channel && message.channel !== channel)) throw notFound('Message');
    const recipients = await stores.messages.recipients([message.id]);
    const notes = await stores.messages.timelineNotes(message.id);
    return { message, recipients, timeline: timelineOf(message, recipients, notes) };
  }

  return {
    /** Sends an SMS (R90–R101). */
    sendSms: sendOperation<SendSmsRequest>(context, 'message.sendSms', 'sms', (sender, input) =>
      sendSms(context, sender, input),
    ),

    /** Says what a send would cost, and takes every step of it but the charge (R21). */
    quoteSms: operation(
      'message.quoteSms',
      { scopes: ['SEND_SMS'], roles: SENDERS },
      async (caller, input: SendSmsRequest): Promise<SmsQuote> => {
        const sender = senderOf(caller);
        const environment = environmentOf(sender, input.environment);
        const { priced, prepared } = await prepareSms(context, sender, { ...input, environment });
        const account = await stores.accounts.find(sender.accountId);
        if (!account) throw notFound('Account');
        return {
          priced,
          unicodeCharacters: unicodeCharacters(input.message),
          costMinor: prepared.costMinor,
          currency: prepared.currency,
          balanceMinor: account.balanceMinor,
          environment,
        };
      },
    ),

    /** What a send with this idempotency key was answered with in the last 24 hours, if anything (R19). */
    replay: operation(
      'message.replay',
      { scopes: Object.values(SEND_SCOPES), roles: SENDERS },
      async (
        caller,
        input: { channel: Channel; idempotencyKey: string; environment?: Environment | undefined },
      ): Promise<SendAnswer | undefined> => {
        const sender = senderOf(caller);
        const claim = { route: input.channel, key: input.idempotencyKey };
        const environment = environmentOf(sender, input.environment);
        const answer = await deps.intake.replay(sender.accountId, environment, claim);
        return answer && { ...answer, isReplay: true };
      },
    ),

    /** Cancels a message of which nothing has left (R18). */
    cancel: operation(
      'message.cancel',
      { scopes: Object.values(SEND_SCOPES), roles: SENDERS },
      async (caller, input: { id: string }): Promise<MessageDetails> => {
        await cancelMessage(deps, caller, input.id);
        return detailsOf(visibilityOf(caller), input.id);
      },
    ),

    /**
     * One page of a channel's messages, newest first (R20). `filter.to` may be in any
     * form that a send takes.
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

    /** One message of any channel, with what happened to each recipient (R20). */
    get: operation(
      'message.get',
      READ,
      async (caller, input: { id: string; channel?: Channel | undefined }): Promise<MessageDetails> => {
        return detailsOf(visibilityOf(caller), input.id, input.channel);
      },
    ),
  };
}

/** The address that a filter names, in the form in which recipients are kept. */
function addressIn(channel: Channel, to: string | undefined): string | undefined {
  if (to === undefined || channel === 'push') return to;
  const address = channel === 'email' ? parseMailbox(to)?.address : parseMsisdn(to);
  if (address !== undefined) return address;
  const what = channel === 'email' ? 'email address' : 'phone number';
  throw validationError([{ path: 'to', message: `must be one ${what}` }]);
}

/** What happened, in the order of time: the recipients' own moments, and the notes on what they cannot say. */
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
