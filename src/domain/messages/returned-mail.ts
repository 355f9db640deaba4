/**
 * Mails that come back (R497): **bounces**, with which a mail server says that it could not deliver a mail that it or
 * another server had accepted, and **complaints**, with which a mailbox provider says that a person reported a mail as
 * spam.
 */

import type { Dependencies } from '../dependencies.ts';
import { serviceUnavailable } from '../errors.ts';
import { operation } from '../operation.ts';
import type { LockedMessage, RecipientMove, TimelineNote } from '../ports/message-stores.ts';
import type { MailReport, ReturnedOutcome, SentMail } from '../ports/return-paths.ts';
import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import { storedForms } from '../suppressions/hashed-suppressions.ts';
import { isHashed, placeText, suppressibleAddress } from '../suppressions/suppression.ts';
import { storable } from '../text.ts';
import { saysAddressUnknown } from './address-unknown.ts';
import type { Recipient } from './message.ts';
import { announceMessages } from './message-events.ts';
import { transitionRecipients } from './transition-recipients.ts';

interface Reported {
  readonly message: LockedMessage;
  readonly recipient: Recipient;
  /** The recipient's address as suppressions store it. */
  readonly address: string;
  readonly now: Date;
}

const MAX_WORDS = 1_000;
const MAX_STATUS = 20;
/** Number of equal notes in a timeline. */
const NOTED_ALIKE = 8;
const COMPLAINED = 'The recipient reported the mail as spam.';
const FORWARDED = 'A server to which the recipient forwards could not deliver the mail; it changed nothing.';
const LATE = 'A repeated or late bounce; it changed nothing.';

/** Operations that handle mails which come back. */
export function returnedMailOperations(deps: Dependencies) {
  const { uow, clock, addressHashes, holdGate } = deps;

  /** Returns the message and the recipient that a mail was sent to. Undefined if they are deleted or erased. */
  async function lockReported(tx: Tx, { messageId, position, isCopy }: SentMail) {
    const message = (await tx.messages.lock([messageId])).get(messageId);
    if (message?.channel !== 'email' || isCopy) return undefined;
    const recipient = (await tx.messages.recipients([messageId])).find((each) => each.position === position);
    const address = recipient && suppressibleAddress('email', recipient.address);
    // The address of an erased person is no address any more.
    if (recipient === undefined || address === undefined) return undefined;
    if (recipient.status === 'pending')
      throw serviceUnavailable('The mail is not recorded as sent yet. Try again.');
    // Read the time after the wait for the lock. Otherwise later events would get an earlier time.
    return { message, recipient, address, now: clock.now() };
  }

  return {
    /**
     * Applies what a mail that came back says about the mail that it names. A repeat changes nothing. Throws
     * `service_unavailable` if the recipient is not recorded as `sent` yet, or this copy of the data is held: the mail
     * server then tries again.
     */
    takeReturnedMail: operation(
      'message.takeReturnedMail',
      {},
      async (
        _caller,
        { mail, report }: { readonly mail: SentMail; readonly report: MailReport },
      ): Promise<ReturnedOutcome> => {
        // What a copy of the data is told would be missing where the gateway really works.
        holdGate.refuseWhileHeld();
        if (report.kind === 'bounce') {
          return uow.run(async (tx) => {
            const reported = await lockReported(tx, mail);
            return reported ? takeBounce(tx, deps.ids, reported, report) : 'unchanged';
          });
        }
        const seen = await uow.run((tx) => lockReported(tx, mail));
        if (!seen) return 'unchanged';
        const forms = await storedForms(addressHashes, seen.message.accountId, seen.address);
        return uow.run(async (tx) => {
          // The person may have been erased since.
          const reported = await lockReported(tx, mail);
          return reported ? takeComplaint(tx, deps.ids, reported, forms) : 'unchanged';
        });
      },
    ),
  };
}

/** Lets the recipient fail, if it is `sent`. `emailRules.afterMoves` suppresses an address that does not exist. */
async function takeBounce(
  tx: Tx,
  ids: Ids,
  reported: Reported,
  { status, words, address }: MailReport & { readonly kind: 'bounce' },
): Promise<ReturnedOutcome> {
  const { message, recipient, now } = reported;
  // A forward that fails says nothing about the address that forwards: the mail has reached that one.
  if (address !== undefined && (suppressibleAddress('email', address) ?? address) !== reported.address) {
    await note(tx, reported, 'failed', FORWARDED, NOTED_ALIKE);
    return 'unchanged';
  }
  const code = storable(status, MAX_STATUS);
  const move: RecipientMove = {
    messageId: message.id,
    position: recipient.position,
    from: 'sent',
    to: 'failed',
    at: now,
    provider: null,
    sids: [],
    error: { code, message: storable(words ?? `The mail came back with the status ${code}.`, MAX_WORDS) },
    // Without the field Final-Recipient it is not known which address failed.
    addressUnknown: address !== undefined && saysAddressUnknown(status) ? true : undefined,
  };
  const { done } = await transitionRecipients(tx, ids, [message.id], [move], now);
  if (done.has(move)) return 'failed';
  await note(tx, reported, 'failed', LATE, NOTED_ALIKE);
  return 'unchanged';
}

/**
 * Suppresses marketing to the person, whichever message the complaint is about: the person still needs codes and
 * receipts, and anybody who saw the head of a mail can write a complaint about it.
 */
async function takeComplaint(
  tx: Tx,
  ids: Ids,
  reported: Reported,
  forms: readonly string[],
): Promise<ReturnedOutcome> {
  const { message, recipient, address, now } = reported;
  const notes = await tx.messages.timelineNotes(message.id);
  // The note says that the complaint has counted: the account may have removed the suppression since.
  if (notes.some(({ position, status }) => position === recipient.position && status === 'complaint'))
    return 'unchanged';
  await note(tx, reported, 'complaint', COMPLAINED);
  const owner = { accountId: message.accountId, environment: message.environment };
  // Of a person who was erased after an earlier message, the address must not come back.
  if ((await tx.suppressions.among(owner, 'email', forms)).some(isHashed)) return 'complained';
  const id = await tx.suppressions.add({
    ...owner,
    id: ids.uuid(),
    channel: 'email',
    address,
    scope: 'marketing',
    source: 'complaint',
    reason: null,
    createdAt: now,
  });
  if (id !== undefined)
    tx.announce('suppressions', message.accountId, placeText({ ...owner, channel: 'email', address }));
  return 'complained';
}

async function note(
  tx: Tx,
  { message, recipient: { position }, now: at }: Reported,
  status: string,
  detail: string,
  mostAlike?: number,
): Promise<void> {
  const { id: messageId, accountId } = message;
  const entry: TimelineNote = { accountId, messageId, position, at, status, detail };
  await tx.messages.note([entry], mostAlike);
  announceMessages(tx, new Map([[messageId, message]]), [entry]);
}
