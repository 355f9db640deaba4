/** What an operator sees of a message of any account (R516): everything but its text, and masked addresses. */
import type { Message, Recipient, TimelineEntry } from '../messages/message.ts';

/** Digits of a number that stay readable. They are enough to compare it with the number of a complaint. */
const SHOWN_DIGITS = 3;
/** Number of recipients that are shown of a message. A message has up to 1,000. */
const RECIPIENTS_MAX = 10;
/** Phone numbers and email addresses in the texts of providers. A time is found first, so that it is not a number. */
const TIME_OR_NUMBER_IN_TEXT = /(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)|\+?\d[\d ()-]{5,}\d/g;
const EMAIL_IN_TEXT = /[^\s<>@"']+(@[^\s<>@"']+)/g;

export interface LookedUpRecipient
  extends Pick<
    Recipient,
    'status' | 'provider' | 'sid' | 'sentAt' | 'deliveredAt' | 'failedAt' | 'attempts'
  > {
  /** Masked, unless the operator searched for it. */
  readonly address: string;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}
export interface LookedUpMessage
  extends Pick<
    Message,
    'id' | 'channel' | 'environment' | 'status' | 'statusReason' | 'createdAt' | 'scheduledFor'
  > {
  readonly accountId: string;
  readonly accountName: string;
  readonly sender: string;
  /** Number of characters of the text. 0 if it was erased. */
  readonly textLength: number;
  readonly recipientCount: number;
  /** Those that were searched for come first. */
  readonly recipients: readonly LookedUpRecipient[];
  readonly timeline: readonly TimelineEntry[];
}

/** Masks an address: the last three digits of a number, and the domain of an email address, stay readable. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@');
  return at >= 0 ? `…${address.slice(at)}` : `…${address.slice(-SHOWN_DIGITS)}`;
}

/** Masks the phone numbers and email addresses in a text of a provider. */
export function maskText(text: string): string {
  return text
    .replace(EMAIL_IN_TEXT, (_found, domain: string) => `…${domain}`)
    .replace(TIME_OR_NUMBER_IN_TEXT, (found, time?: string) => time ?? maskAddress(found));
}

/** Returns what an operator sees of a message. `searched` is the address that was searched for, if one was. */
export function lookedUp(
  account: { readonly id: string; readonly name: string },
  {
    message,
    recipients,
    timeline,
  }: {
    readonly message: Message;
    readonly recipients: readonly Recipient[];
    readonly timeline: readonly TimelineEntry[];
  },
  searched: string | undefined,
): LookedUpMessage {
  const shown = (address: string) => (address === searched ? address : maskAddress(address));
  const first = recipients.toSorted(
    (left, right) => Number(right.address === searched) - Number(left.address === searched),
  );
  const kept = first.slice(0, RECIPIENTS_MAX);
  const addresses = new Set(kept.map(({ address }) => address));
  const { id, channel, environment, status, statusReason, createdAt, scheduledFor } = message;
  return {
    id,
    channel,
    environment,
    status,
    statusReason,
    createdAt,
    scheduledFor,
    accountId: account.id,
    accountName: account.name,
    sender: message.from,
    textLength: [...message.content].length,
    recipientCount: recipients.length,
    recipients: kept.map((recipient) => ({
      status: recipient.status,
      provider: recipient.provider,
      sid: recipient.sid,
      sentAt: recipient.sentAt,
      deliveredAt: recipient.deliveredAt,
      failedAt: recipient.failedAt,
      attempts: recipient.attempts,
      address: shown(recipient.address),
      errorCode: recipient.error?.code ?? null,
      errorMessage: recipient.error ? maskText(recipient.error.message) : null,
    })),
    timeline: timeline
      .filter(({ recipient }) => recipient === undefined || addresses.has(recipient))
      .map(({ at, status: moment, recipient, detail }) => ({
        at,
        status: moment,
        ...(recipient === undefined ? {} : { recipient: shown(recipient) }),
        ...(detail === undefined ? {} : { detail: maskText(detail) }),
      })),
  };
}
