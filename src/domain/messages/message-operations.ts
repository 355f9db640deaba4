import { accountIdOf } from '../accounts/account-operations.ts';
import { ChangeCache } from '../cache.ts';
import { ALL_ROLES, type ApiKeyCaller, type Caller, type Environment, type MemberCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { forbidden, notFound } from '../errors.ts';
import { Tariff } from '../money/tariff.ts';
import { operation } from '../operation.ts';
import type { MessageFilter, Page, PageRequest } from '../ports/stores.ts';
import { isUuid } from '../uuid.ts';
import type { SendAnswer, SendContext } from './accept-message.ts';
import type { Channel, Message, Recipient, TimelineEntry } from './message.ts';
import type { SmsInput } from './prepare-sms.ts';
import { sendSms } from './send-sms.ts';

export interface SendSmsRequest extends SmsInput {
  /** Where members send; a key sends in its own environment. */
  readonly environment?: Environment | undefined;
  readonly idempotencyKey?: string | undefined;
}
export interface MessageDetails {
  readonly message: Message;
  readonly recipients: readonly Recipient[];
  readonly timeline: readonly TimelineEntry[];
}

const READ = { scopes: ['READ_MESSAGES'], roles: ALL_ROLES } as const;

/** Sending, and knowing what became of it. */
export function messageOperations(deps: Dependencies) {
  const { stores } = deps;
  const tariffs = new ChangeCache('prices', deps.changes, async () => new Tariff(await stores.prices.all()));
  const currencies = new ChangeCache(
    'account',
    deps.changes,
    async (id) => (await stores.accounts.find(id))?.currency,
  );
  const context: SendContext = {
    intake: deps.intake,
    routing: deps.routing,
    clock: deps.clock,
    ids: deps.ids,
    defaultSenderId: deps.settings.defaultSenderId,
    tariff: () => tariffs.get('all'),
    async currencyOf(accountId) {
      const currency = await currencies.get(accountId);
      if (currency === undefined) throw notFound('Account');
      return currency;
    },
  };

  return {
    /** Sends an SMS (contract, POST /developers/sms). */
    sendSms: operation(
      'message.sendSms',
      { scopes: ['SEND_SMS'], roles: ['OWNER', 'ADMIN', 'DEVELOPER'] },
      async (caller, input: SendSmsRequest): Promise<SendAnswer> => {
        const sender = senderOf(caller);
        const environment =
          sender.kind === 'api-key' ? sender.environment : (input.environment ?? 'production');
        return sendSms(context, sender, { ...input, environment });
      },
    ),

    /** One page of a channel's messages, newest first (contract, history; decision 20). */
    history: operation(
      'message.history',
      READ,
      async (
        caller,
        input: { channel: Channel; filter: MessageFilter; page: PageRequest },
      ): Promise<Page<Message>> =>
        stores.messages.history(accountIdOf(caller), input.channel, input.filter, input.page),
    ),

    /** One message of any channel, with what happened to each recipient (decision 20). */
    get: operation(
      'message.get',
      READ,
      async (caller, input: { id: string; channel?: Channel | undefined }): Promise<MessageDetails> => {
        const message = isUuid(input.id)
          ? await stores.messages.find(accountIdOf(caller), input.id)
          : undefined;
        if (!message || (input.channel && message.channel !== input.channel)) throw notFound('Message');
        const recipients = await stores.messages.recipients([message.id]);
        const notes = await stores.messages.timelineNotes(message.id);
        return { message, recipients, timeline: timelineOf(message, recipients, notes) };
      },
    ),
  };
}

function senderOf(caller: Caller): ApiKeyCaller | MemberCaller {
  if (caller.kind === 'api-key' || caller.kind === 'member') return caller;
  throw forbidden('Only a key or a member of an account can send.');
}

/** What happened, in the order of time: the recipients' own moments, and the notes on what they cannot say. */
function timelineOf(
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
