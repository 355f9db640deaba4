import { recordChange } from '../audit/record-change.ts';
import type { SystemCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PricedMessage } from '../messages/message.ts';
import { prepareMessage, type SendContext } from '../messages/send-operation.ts';
import type { InboundChannel } from '../ports/whatsapp.ts';
import { storedForms } from './hashed-suppressions.ts';
import { type ReplyWord, replyWord } from './reply-words.ts';
import { placeText } from './suppression.ts';

/** The texts that confirm a reply. */
export const ANSWERS: Readonly<Record<ReplyWord, string>> = {
  stop: 'You will get no more messages here. Reply START to get them again.',
  start: 'You will get messages again. Reply STOP to get no more.',
  help: 'Reply STOP to get no more messages here, or START to get them again.',
};
const CALLER: SystemCaller = { kind: 'system', name: 'recipient' };
/** A reply that is older than this, in ms, is not answered: its confirmation may have been forgotten (R381). */
const ANSWERED_MS = 24 * 3_600_000;

type Answer = Pick<PricedMessage, 'from' | 'content' | 'payload'>;

/** A message to an account. */
export interface Reply {
  /** Id of the stored message. */
  readonly id: string;
  readonly accountId: string;
  readonly channel: InboundChannel;
  readonly sender: string;
  readonly content: string | null;
  readonly sentAt: Date;
  /** Makes the confirmation. */
  readonly answer: (word: ReplyWord) => Answer;
  /** The route of the confirmation. Default: the route of the sender's number. */
  readonly routeKey?: string;
  /** False if another account confirms it (R496). */
  readonly isConfirmed?: boolean;
}

/**
 * Handles the replies STOP, START and HELP of a recipient (R379, R380). Confirms each with one message that costs the
 * account nothing, at most once in 24 hours (R381). A STOP or START changes nothing if a later one of the recipient is
 * known: a platform repeats callbacks, and may do so late. Any other text is ignored.
 */
export async function takeReply(deps: Dependencies, context: SendContext, reply: Reply): Promise<void> {
  const word = replyWord(reply.content);
  if (word === undefined || (word !== 'help' && !(await follow(deps, reply, word)))) return;
  const isRecent = deps.clock.now().getTime() - reply.sentAt.getTime() < ANSWERED_MS;
  if (isRecent && reply.isConfirmed !== false) await confirm(context, reply, word);
}

/** Suppresses the sender, or takes that back. Returns false if a later reply of the sender counts. */
async function follow(
  deps: Dependencies,
  { id: replyId, accountId, channel, sender: address, sentAt }: Reply,
  word: 'stop' | 'start',
): Promise<boolean> {
  const owner = { accountId, environment: 'production' } as const;
  const forms = await storedForms(deps.addressHashes, accountId, address);
  return deps.uow.run(async (tx) => {
    // One reply of a person at a time. Otherwise a START could look before a later STOP is stored, and lift it.
    await tx.suppressions.lockReplies(owner, channel, address);
    const later = await tx.inbound.textsAfter(accountId, channel, address, { id: replyId, sentAt });
    if (later.map(replyWord).some((known) => known === 'stop' || known === 'start')) return false;
    const id =
      word === 'start'
        ? await tx.suppressions.liftStop(owner, channel, forms)
        : await tx.suppressions.widen({
            ...owner,
            id: deps.ids.uuid(),
            channel,
            address,
            scope: 'all',
            source: 'stop',
            reason: null,
            createdAt: deps.clock.now(),
          });
    if (id === undefined) return true;
    tx.announce('suppressions', accountId, placeText({ ...owner, channel, address }));
    await recordChange(tx, deps, CALLER, {
      accountId,
      action: word === 'start' ? 'suppression.remove' : 'suppression.add',
      target: id,
      ...(word === 'start' ? {} : { after: { channel, scope: 'all' } }),
    });
    return true;
  });
}

/**
 * Sends the confirmation. Its idempotency key is the word with the number, apart from
 * the keys of the account, so that a number gets each confirmation once
 * in the 24 hours for which keys are kept (R19), also from two processes at the same time.
 */
async function confirm(context: SendContext, reply: Reply, word: ReplyWord): Promise<void> {
  const { accountId, channel, sender: address, routeKey } = reply;
  const prepared = prepareMessage(
    context,
    { accountId, apiKeyId: null, userId: null },
    channel,
    'production',
    {
      ...reply.answer(word),
      recipients: [{ address, costMinor: 0 }],
      unitPriceMinor: 0,
      currency: await context.currencyOf(accountId),
      skipped: [],
      duplicatesRemoved: 0,
      scheduledFor: null,
      purpose: 'transactional',
      suppressedSkipped: 0,
    },
    undefined,
    routeKey,
  );
  await context.intake.accept({
    ...prepared,
    idempotency: { route: `${channel}-reply`, key: `${word} ${address}` },
  });
}
