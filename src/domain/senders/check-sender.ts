import type { AccountEnvironment } from '../caller.ts';
import { DomainError } from '../errors.ts';
import { parseMailbox } from '../messages/email-address.ts';
import type { Channel, Purpose } from '../messages/message.ts';
import { domainOf } from '../people/single-sign-on.ts';
import type { ApprovedName } from '../ports/sender-store.ts';
import type { Tx } from '../ports/stores.ts';
import { comparedName, type MailRecords, recordsOf, type Sender, type SenderChannel } from './sender.ts';

/** The names that every account may use. */
export interface GatewaySenders {
  readonly defaultSenderId: string;
  readonly emailFrom: string;
}

/** The id under which changes of any account's senders are announced. */
export const ALL_SENDERS = 'all';

/** Announces a change of an account's senders, and of those that are refused to all others (R432). */
export function announceSenders(tx: Pick<Tx, 'announce'>, accountId: string): void {
  tx.announce('senders', accountId);
  tx.announce('senders', ALL_SENDERS);
}

/** The accounts that own an approved name of production, by channel and compared name. */
type NameOwners = ReadonlyMap<string, string>;

export function nameOwners(approved: readonly ApprovedName[]): NameOwners {
  return new Map(approved.map(({ accountId, channel, look }) => [`${channel} ${look}`, accountId]));
}

/** Throws `sender_not_approved` if the name, or one that looks like it, is approved for another account (R432, R433). */
export function refuseOthersName(
  owners: NameOwners,
  { accountId }: Pick<AccountEnvironment, 'accountId'>,
  channel: SenderChannel,
  from: string,
): void {
  const name = nameIn(channel, from);
  const owner = owners.get(`${channel} ${comparedName(channel, name)}`);
  if (owner === undefined || owner === accountId) return;
  const what = channel === 'sms' ? `The sender ID ${name}` : `The domain ${name}`;
  throw new DomainError(
    'sender_not_approved',
    `${what} is approved for another account, or looks like such a name. Use another one.`,
    { field: 'from', value: name, status: 'taken', approved: [] },
  );
}

/** Largest number of names in an error. */
const NAMES_MAX = 20;

/** True if `from` is the gateway's own sender. For email, the address without the display name also counts. */
export function isOwnSender(channel: Channel, from: string, gateway: GatewaySenders): boolean {
  if (channel === 'sms') return from === gateway.defaultSenderId;
  return from === gateway.emailFrom || from === parseMailbox(gateway.emailFrom)?.address;
}

/** Returns the account's sender for `from`. For email, this is the sender of the address's domain. */
function senderNamed(
  senders: readonly Sender[],
  { environment }: Pick<AccountEnvironment, 'environment'>,
  channel: SenderChannel,
  from: string,
): Sender | undefined {
  const name = nameIn(channel, from);
  return senders.find(
    (each) => each.environment === environment && each.channel === channel && each.name === name,
  );
}

/** Throws `sender_not_approved` unless the account may send messages of this purpose under this name (R432). */
export function checkSender(
  senders: readonly Sender[],
  owner: AccountEnvironment,
  channel: SenderChannel,
  from: string,
  purpose: Purpose,
): void {
  const sender = senderNamed(senders, owner, channel, from);
  if (sender?.status === 'approved' && sender.purposes.includes(purpose)) return;
  const approved = senders
    .filter(
      (each) =>
        each.environment === owner.environment && each.channel === channel && each.status === 'approved',
    )
    .map(({ name }) => name);
  const name = nameIn(channel, from);
  throw new DomainError('sender_not_approved', `${faultOf(sender, channel, name, purpose)} ${HELP}`, {
    field: 'from',
    value: name,
    status: sender?.status ?? 'unknown',
    approved: approved.slice(0, NAMES_MAX),
  });
}

const HELP =
  'Ask for it with POST /developers/senders (GraphQL: requestSender), or leave out "from" to use the default.';

function faultOf(sender: Sender | undefined, channel: SenderChannel, name: string, purpose: Purpose): string {
  const what = channel === 'sms' ? `The sender ID ${name}` : `The domain ${name}`;
  if (sender?.status === 'approved') {
    return `${what} is approved for ${sender.purposes.join(' and ')}, not for ${purpose}.`;
  }
  if (sender?.status === 'rejected') return `${what} was rejected${sender.note ? `: ${sender.note}` : '.'}`;
  if (sender) {
    return channel === 'sms'
      ? `${what} waits for the operator's approval.`
      : `${what} is not verified yet: publish its DNS record, then POST /developers/senders/${sender.id}/verify.`;
  }
  return `${what} is not approved for this account.`;
}

/**
 * Returns the domain of `from`, if mails are signed for it (R435). The account must have verified the domain, and its
 * DNS must have the DKIM key of the gateway. Undefined: mails are signed for DKIM_DOMAIN.
 */
export function signingDomainOf(
  senders: readonly Sender[],
  owner: AccountEnvironment,
  from: string,
  mail: MailRecords,
): string | undefined {
  const sender = senderNamed(senders, owner, 'email', from);
  if (sender?.status !== 'approved') return undefined;
  const dkim = recordsOf(sender, mail).find(({ kind }) => kind === 'dkim');
  return dkim?.isRight ? sender.name : undefined;
}

function nameIn(channel: SenderChannel, from: string): string {
  return channel === 'sms' ? from : domainOf(parseMailbox(from)?.address ?? from);
}
