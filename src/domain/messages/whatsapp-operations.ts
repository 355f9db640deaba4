import { ACCOUNT_ROLES, type AccountEnvironment, accountEnvironmentOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { WhatsAppNumber } from '../ports/sender-store.ts';
import { TargetRefused } from '../ports/webhook-transport.ts';
import type { WhatsAppCallback, WhatsAppCallbackPart } from '../ports/whatsapp.ts';
import { routeOfNumber } from '../senders/whatsapp-numbers.ts';
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
  {
    stores,
    clock,
    transport,
    whatsAppNumbers,
  }: Pick<Dependencies, 'stores' | 'clock' | 'transport' | 'whatsAppNumbers'>,
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
    const { from, routeKey, provider } = await whatsAppNumbers.lineOf(owner, to);
    if (content.type !== 'template') {
      const startsAt = scheduledFor ?? now;
      const heldUntil = holdOf(context.quietHours, channel, owner.environment, request.purpose, startsAt);
      const leavesAt = heldUntil?.(to) ?? startsAt;
      const window = await sessionWindow(stores.inbound, owner, to, leavesAt, provider);
      if (!window.isOpen) throw windowClosed(window, routeKey === undefined ? undefined : from);
    }
    const unitPrice = await unitPriceOf(context, owner.accountId, channel, to);
    return {
      from,
      routeKey,
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
  const { stores, clock, ids, whatsAppNumbers } = deps;

  /** Returns the messages of a part of a callback that have a sender, ready to be stored. */
  function messagesIn({ inbound }: WhatsAppCallbackPart, provider: string) {
    const receivedAt = clock.now();
    return inbound.flatMap((message) => {
      const sender = parseMsisdn(message.sender);
      // A time in the future would keep the session window open for longer than 24 hours.
      const sentAt = message.sentAt < receivedAt ? message.sentAt : receivedAt;
      return sender ? [{ ...message, channel, provider, sender, sentAt, receivedAt, id: ids.uuid() }] : [];
    });
  }

  /** Records what came to the number of an account. All of it belongs to that account (R553). */
  async function takeOwn(part: WhatsAppCallbackPart, { accountId, phoneNumberId, number }: WhatsAppNumber) {
    const messages = messagesIn(part, part.provider);
    const stored = await stores.inbound.add(messages.map((message) => ({ ...message, accountId })));
    await deps.takeReports(part.provider, part.reports);
    for (const { sender, sid, content } of messages) {
      const known = stored.get(sid);
      if (!known?.accountId) continue;
      await takeReply(deps, context, {
        id: known.id,
        accountId: known.accountId,
        channel,
        sender,
        content,
        sentAt: known.sentAt,
        answer: (word) => whatsAppAnswer(number, word),
        routeKey: routeOfNumber(phoneNumberId),
        // The platform repeats callbacks. The number may have had another account when it first sent this one. That
        // account can no longer send from it.
        isConfirmed: known.accountId === accountId,
      });
    }
  }

  /**
   * Records what came to the shared number. A message there does not name its account: it belongs to the account that
   * wrote last to its sender (R205).
   */
  async function takeShared(part: WhatsAppCallbackPart, provider: string) {
    const messages = messagesIn(part, provider);
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
    await deps.takeReports(provider, part.reports);
    for (const { sender, sid, content } of messages) {
      const known = stored.get(sid);
      if (!known?.accountId) continue;
      const { id, accountId, sentAt } = known;
      const answer = (word: ReplyWord) => whatsAppAnswer(context.defaultSenderId, word);
      const reply = { id, accountId, channel, sender, content, sentAt, answer };
      await takeReply(deps, context, reply);
      for (const other of erasing.get(sid)?.slice(1) ?? [])
        await takeReply(deps, context, { ...reply, accountId: other, isConfirmed: false });
    }
  }

  return {
    /** Sends a WhatsApp message. `POST /developers/whatsapp` calls it (R25). */
    sendWhatsApp: sendOperation('message.sendWhatsApp', channel, whatsAppSend(deps, context)),

    /** Returns the session window of a number: whether the account may send free text to it now. */
    whatsAppWindow: operation(
      'message.whatsAppWindow',
      { scopes: ['SEND_WHATSAPP'], roles: ACCOUNT_ROLES },
      async (caller, input: { to: string }): Promise<SessionWindow> => {
        const owner = accountEnvironmentOf(caller);
        const to = oneNumber(input.to);
        const { provider } = await whatsAppNumbers.lineOf(owner, to);
        return sessionWindow(stores.inbound, owner, to, clock.now(), provider);
      },
    ),

    /**
     * Records a callback of the platform. Resolves when all its reports and messages are stored, and all replies such
     * as STOP have taken effect (R379).
     */
    takeWhatsAppCallback: operation(
      'message.takeWhatsAppCallback',
      {},
      async (_caller, { parts, sharedProvider, sharesAnyNumber }: WhatsAppCallback): Promise<void> => {
        const numbers = await stores.senders.findNumbers(
          parts.flatMap(({ phoneNumberId }) => phoneNumberId ?? []),
        );
        for (const part of parts) {
          const { phoneNumberId, provider, reports } = part;
          const own = phoneNumberId === undefined ? undefined : numbers.get(phoneNumberId);
          if (own) await takeOwn(part, own);
          else if (phoneNumberId === undefined || sharesAnyNumber) await takeShared(part, sharedProvider);
          // Nobody has the number now. Messages that left from it before still get their reports.
          else await deps.takeReports(provider, reports);
        }
      },
    ),
  };
}

function whatsAppAnswer(from: string, word: ReplyWord) {
  const content = checkWhatsAppContent({ type: 'text', text: { body: ANSWERS[word] } });
  return { from, content: whatsAppPreview(content), payload: { ...content } };
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
