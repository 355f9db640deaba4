import { recordChange } from '../audit/record-change.ts';
import type { SystemCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { prepareMessage, type SendContext } from '../messages/send-operation.ts';
import { checkWhatsAppContent, whatsAppPreview } from '../messages/whatsapp-content.ts';
import { type ReplyWord, replyWord } from './reply-words.ts';

const ANSWERS: Readonly<Record<ReplyWord, string>> = {
  stop: 'You will get no more messages here. Reply START to get them again.',
  start: 'You will get messages again. Reply STOP to get no more.',
  help: 'Reply STOP to get no more messages here, or START to get them again.',
};
const CALLER: SystemCaller = { kind: 'system', name: 'recipient' };

/** A WhatsApp message to an account. `sid` is the provider's id of the message. */
export interface Reply {
  readonly accountId: string;
  readonly sender: string;
  readonly sid: string;
  readonly content: string | null;
  readonly sentAt: Date;
}

/**
 * Handles the replies STOP, START and HELP of a recipient (R379). Confirms each with one message that costs the account
 * nothing. A repeated callback sends no second confirmation. A STOP or START changes nothing if a later one of the
 * recipient is known: a platform repeats callbacks, and may do so late. Any other text is ignored.
 */
export async function takeReply(deps: Dependencies, context: SendContext, reply: Reply): Promise<void> {
  const word = replyWord(reply.content);
  if (word === undefined) return;
  const { accountId, sender: address } = reply;
  const owner = { accountId, environment: 'production' } as const;
  const channel = 'whatsapp' as const;
  if (word !== 'help') {
    const later = await deps.stores.inbound.textsAfter(accountId, channel, address, reply.sentAt);
    if (later.map(replyWord).some((known) => known === 'stop' || known === 'start')) return;
    await deps.uow.run(async (tx) => {
      const id =
        word === 'start'
          ? await tx.suppressions.liftStop(owner, channel, address)
          : (
              await tx.suppressions.set({
                ...owner,
                id: deps.ids.uuid(),
                channel,
                address,
                scope: 'all',
                source: 'stop',
                reason: null,
                createdAt: deps.clock.now(),
              })
            ).id;
      if (id === undefined) return;
      tx.announce('suppressions', accountId);
      await recordChange(tx, deps, CALLER, {
        accountId,
        action: word === 'start' ? 'suppression.remove' : 'suppression.add',
        target: id,
        ...(word === 'start' ? {} : { after: { channel, scope: 'all' } }),
      });
    });
  }
  const content = checkWhatsAppContent({ type: 'text', text: { body: ANSWERS[word] } });
  const answer = {
    from: context.defaultSenderId,
    content: whatsAppPreview(content),
    payload: { ...content },
    recipients: [{ address, costMinor: 0 }],
    unitPriceMinor: 0,
    currency: await context.currencyOf(accountId),
    skipped: [],
    duplicatesRemoved: 0,
    scheduledFor: null,
    purpose: 'transactional',
    suppressedSkipped: 0,
  } as const;
  const sender = { accountId, apiKeyId: null, userId: null };
  await context.intake.accept(
    prepareMessage(context, sender, channel, owner.environment, answer, `reply ${reply.sid}`),
  );
}
