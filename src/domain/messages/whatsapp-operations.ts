import { ACCOUNT_ROLES, type AccountEnvironment, accountEnvironmentOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { TargetRefused } from '../ports/webhook-transport.ts';
import type { WhatsAppCallback } from '../ports/whatsapp.ts';
import { accountsThatErased } from '../suppressions/erased-recipients.ts';
import type { ReplyWord } from '../suppressions/reply-words.ts';
import { ANSWERS, takeReply } from '../suppressions/take-reply.ts';
import { truncate } from '../text.ts';
import type { PricedMessage } from './message.ts';
import { parseMsisdn } from './msisdn.ts';
import { withReplyWayOut } from './opt-out.ts';
import {
  checkSchedule,
  holdOf,
  type Send,
  type SendContext,
  type SendRequest,
  sendOn,
  sendOperation,
  unitPriceOf,
} from './send-operation.ts';
import { checkWhatsAppContent, type WhatsAppContentInput, whatsAppPreview } from './whatsapp-content.ts';
import { type SessionWindow, sessionWindow, windowClosed } from './whatsapp-window.ts';

export interface WhatsAppRequest extends WhatsAppContentInput, SendRequest {
  /** One phone number, in any form that an SMS accepts. */
  readonly to: string;
  readonly scheduledFor?: string | undefined;
}

const channel = 'whatsapp' as const;

/**
 * Returns the request with a way out in a marketing text (R531). A template is sent as the platform approved it, and has
 * its own; a caption belongs to a conversation of the last 24 hours, in which texts say it.
 */
function withWayOut(request: WhatsAppRequest): WhatsAppRequest {
  const { type, text, purpose } = request;
  return type === 'text' && text
    ? { ...request, text: { ...text, body: withReplyWayOut(text.body, purpose) } }
    : request;
}

/** Returns the steps that send a WhatsApp message. */
export function whatsAppSend(
  { stores, clock, transport }: Pick<Dependencies, 'stores' | 'clock' | 'transport'>,
  context: SendContext,
): Send<WhatsAppRequest> {
  /**
   * Checks everything about a WhatsApp message that does not depend on its route or the balance, and returns its price
   * (R25). Throws `validation_error`, `invalid_phone_number`, `invalid_scheduled_time`, `session_window_closed` and
   * `unpriced_destination`.
   */
  async function price(request: WhatsAppRequest, owner: AccountEnvironment): Promise<PricedMessage> {
    const now = clock.now();
    const { content, scheduledFor, to } = checkAll({
      content: () => checkWhatsAppContent(withWayOut(request)),
      scheduledFor: () => checkSchedule(request.scheduledFor, now),
      to: () => oneNumber(request.to),
    });
    if (content.type === 'media') await checkMediaUrl(content.url);
    if (content.type !== 'template') {
      const startsAt = scheduledFor ?? now;
      const heldUntil = holdOf(context.quietHours, channel, owner.environment, request.purpose, startsAt);
      const window = await sessionWindow(stores.inbound, owner, to, heldUntil?.(to) ?? startsAt);
      if (!window.isOpen) throw windowClosed(window);
    }
    const unitPrice = await unitPriceOf(context, owner.accountId, channel, to);
    return {
      from: context.defaultSenderId,
      content: whatsAppPreview(content),
      payload: { ...content },
      recipients: [{ address: to, costMinor: unitPrice.unitPriceMinor }],
      ...unitPrice,
      skipped: [],
      duplicatesRemoved: 0,
      scheduledFor,
    };
  }

  /**
   * Refuses a URL that leads into a private network (R32). It does so although the platform, and not the gateway,
   * fetches the file.
   */
  async function checkMediaUrl(url: string): Promise<void> {
    try {
      await transport.checkAddress(url);
    } catch (error) {
      if (!(error instanceof TargetRefused)) throw error;
      throw validationError([{ path: 'media.url', message: `cannot be used: ${error.reason}` }]);
    }
  }

  return sendOn(context, channel, (request, { accountId }, environment) =>
    price(request, { accountId, environment }),
  );
}

/** Operations that send WhatsApp messages and record the platform's callbacks (R25). */
export function whatsAppOperations(deps: Dependencies, context: SendContext) {
  const { stores, clock, ids } = deps;

  return {
    /** Sends a WhatsApp message. `POST /developers/whatsapp` calls it (R25). */
    sendWhatsApp: sendOperation('message.sendWhatsApp', channel, whatsAppSend(deps, context)),

    /** Returns the session window of a number: whether the account may send free text to it now. */
    whatsAppWindow: operation(
      'message.whatsAppWindow',
      { scopes: ['SEND_WHATSAPP'], roles: ACCOUNT_ROLES },
      (caller, input: { to: string }): Promise<SessionWindow> =>
        sessionWindow(stores.inbound, accountEnvironmentOf(caller), oneNumber(input.to), clock.now()),
    ),

    /**
     * Records a callback of the platform. Resolves when all its reports and messages are stored, and all replies such
     * as STOP have taken effect (R379).
     */
    takeWhatsAppCallback: operation(
      'message.takeWhatsAppCallback',
      {},
      async (_caller, { provider, reports, inbound }: WhatsAppCallback): Promise<void> => {
        const receivedAt = clock.now();
        const messages = inbound.flatMap((message) => {
          const sender = parseMsisdn(message.sender);
          // A time in the future would keep the session window open for longer than 24 hours.
          const sentAt = message.sentAt < receivedAt ? message.sentAt : receivedAt;
          return sender
            ? [{ ...message, channel, provider, sender, sentAt, receivedAt, id: ids.uuid() }]
            : [];
        });
        // All accounts share the gateway's number, so the message does not name its account. It belongs to the account
        // that wrote last to its sender (R205).
        const owners = await stores.inbound.lastWriters(messages.map(({ sender }) => sender));
        const erasing = new Map<string, readonly string[]>();
        for (const { sender, sid, content } of messages) {
          if (owners.has(sender)) continue;
          erasing.set(sid, await accountsThatErased(deps, channel, sender, content));
        }
        const stored = await stores.inbound.add(
          messages.map((message) => ({
            ...message,
            accountId: owners.get(message.sender) ?? erasing.get(message.sid)?.[0] ?? null,
          })),
        );
        await deps.takeReports(provider, reports);
        for (const { sender, sid, content } of messages) {
          const known = stored.get(sid);
          if (!known?.accountId) continue;
          const { id, accountId, sentAt } = known;
          const answer = (word: ReplyWord) => whatsAppAnswer(context, word);
          const reply = { id, accountId, channel, sender, content, sentAt, answer };
          await takeReply(deps, context, reply);
          for (const other of erasing.get(sid)?.slice(1) ?? [])
            await takeReply(deps, context, { ...reply, accountId: other, isConfirmed: false });
        }
      },
    ),
  };
}

function whatsAppAnswer({ defaultSenderId }: SendContext, word: ReplyWord) {
  const content = checkWhatsAppContent({ type: 'text', text: { body: ANSWERS[word] } });
  return { from: defaultSenderId, content: whatsAppPreview(content), payload: { ...content } };
}

/** Parses `to`, which must hold exactly one number. Throws `invalid_phone_number`. */
function oneNumber(to: string): string {
  const number = parseMsisdn(to);
  if (number !== undefined) return number;
  throw new DomainError(
    'invalid_phone_number',
    'A WhatsApp message goes to one number. Give it in E.164 form, such as +256700123456.',
    { field: 'to', value: truncate(to) },
  );
}
