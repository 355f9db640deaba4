/** SMS that people send to a number or short code of the gateway (R380). */
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import type { InboundText } from '../ports/provider.ts';
import { accountsThatErased } from '../suppressions/erased-recipients.ts';
import { type ReplyWord, replyWord } from '../suppressions/reply-words.ts';
import { ANSWERS, takeReply } from '../suppressions/take-reply.ts';
import { storable } from '../text.ts';
import { parseMsisdn } from './msisdn.ts';
import { sanitizeSid } from './sanitize-provider-text.ts';
import type { SendContext } from './send-operation.ts';

const channel = 'sms' as const;
/** Senders that every carrier can take: a number without `+`, a short code, or up to 11 letters and digits. */
const SENDER = /^([0-9]{1,15}|[A-Za-z0-9]{1,11})$/;

/** Operations that handle inbound SMS. */
export function inboundSmsOperations(deps: Dependencies, context: SendContext) {
  const { stores, clock, ids, routing } = deps;
  return {
    /**
     * Handles an inbound SMS. Resolves when a reply such as STOP has taken effect. A text that is no such reply is not
     * kept, because nobody could read it.
     */
    takeInboundSms: operation(
      'message.takeInboundSms',
      {},
      async (_caller, message: InboundText & { readonly provider: string }): Promise<void> => {
        const { provider, text } = message;
        // Before the first wait, so that two replies of one person keep their order.
        const now = clock.now();
        const id = ids.uuid();
        const sender = parseMsisdn(message.sender);
        if (replyWord(text) === undefined || sender === undefined) return;
        const to = message.to.replace(/^\+/, '');
        const owner = await stores.inbound.smsOwner(sender, to);
        const accountIds =
          owner === undefined ? await accountsThatErased(deps, channel, sender, text) : [owner];
        const [accountId, ...others] = accountIds;
        if (accountId === undefined) return;
        const sid = message.sid === undefined ? id : sanitizeSid(message.sid);
        // A carrier that repeats a text gives its id again. The owner and the time of the first arrival then count.
        const stored = await stores.inbound.add([
          {
            id,
            accountId,
            channel,
            provider,
            sid,
            sender,
            type: 'text',
            content: storable(text),
            sentAt: now,
            receivedAt: now,
          },
        ]);
        const owned = stored.get(sid);
        if (!owned?.accountId) return;
        const from = SENDER.test(to) ? to : context.defaultSenderId;
        const reply = {
          accountId: owned.accountId,
          channel,
          sender,
          content: text,
          id: owned.id,
          sentAt: owned.sentAt,
          answer: (word: ReplyWord) => ({ from, content: ANSWERS[word], payload: null }),
          routeKey: routing.routeThrough(provider),
        };
        await takeReply(deps, context, reply);
        for (const other of others)
          await takeReply(deps, context, { ...reply, accountId: other, isConfirmed: false });
      },
    ),
  };
}
