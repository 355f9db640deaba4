/**
 * A **suppression** says that an account must not send to an address on a channel (R377). It applies to one account and
 * one environment. Its scope is `marketing` or `all`. `all` covers every purpose.
 */
import type { AccountEnvironment, Environment } from '../caller.ts';
import { validationError } from '../errors.ts';
import { parseEmailAddress } from '../messages/email-address.ts';
import type { Channel, PricedMessage, Purpose } from '../messages/message.ts';
import { parseMsisdn } from '../messages/msisdn.ts';

export const SUPPRESSED_CHANNELS = ['sms', 'email', 'whatsapp'] as const;
export type SuppressedChannel = (typeof SUPPRESSED_CHANNELS)[number];
export const SUPPRESSION_SCOPES = ['marketing', 'all'] as const;
export type SuppressionScope = (typeof SUPPRESSION_SCOPES)[number];
/**
 * Who created a suppression. `api`: an API key. `person`: a person of the account. `stop`: the recipient, with a reply
 * such as STOP. `link`: the recipient, with the link of a message (R441). `bounce`: a mail server, which knows no such
 * address (R382). `import`: a file (R383). `complaint`: the recipient, who reported an email as spam (R498).
 */
export const SUPPRESSION_SOURCES = [
  'api',
  'person',
  'stop',
  'link',
  'bounce',
  'import',
  'complaint',
] as const;
export type SuppressionSource = (typeof SUPPRESSION_SOURCES)[number];

/** The address of a suppression of an erased person begins with this. Its hash follows (R492). */
export const HASHED_PREFIX = 'erased:';

/** Where an account has at most one suppression. */
export interface SuppressionPlace {
  readonly environment: Environment;
  readonly channel: SuppressedChannel;
  /** The address as it is stored: as it is, or hashed (R492). */
  readonly address: string;
}

/** Returns the text of a place in announcements and filters. It has no space. */
export function placeText({ environment, channel, address }: SuppressionPlace): string {
  return `${environment}/${channel}/${address.includes(' ') ? encodeURIComponent(address) : address}`;
}

/** Longest reason, in UTF-16 code units. */
export const SUPPRESSION_REASON_MAX_LENGTH = 200;

export interface Suppression extends AccountEnvironment {
  readonly id: string;
  readonly environment: Environment;
  readonly channel: SuppressedChannel;
  /** A phone number in E.164, or an email address in lower case. Of an erased person: `HASHED_PREFIX` and the hash. */
  readonly address: string;
  readonly scope: SuppressionScope;
  readonly source: SuppressionSource;
  readonly reason: string | null;
  readonly createdAt: Date;
}

export interface SuppressedAddress {
  readonly address: string;
  readonly scope: SuppressionScope;
}

/**
 * Returns the form in which an address is stored and compared. Undefined if the text is not an address of this channel.
 */
export function suppressibleAddress(channel: SuppressedChannel, raw: string): string | undefined {
  return channel === 'email' ? parseEmailAddress(raw)?.toLowerCase() : parseMsisdn(raw);
}

/** Returns the address in its stored form. Throws `validation_error` if the text is not an address of this channel. */
export function checkAddress(channel: SuppressedChannel, raw: string): string {
  const address = suppressibleAddress(channel, raw);
  if (address !== undefined) return address;
  throw validationError([{ path: 'address', message: addressRule(channel) }]);
}

/** Returns what the address of a channel must be. */
export function addressRule(channel: SuppressedChannel): string {
  return `must be ${channel === 'email' ? 'an email address such as ann@example.com' : 'a phone number in E.164'}`;
}

export function isSuppressedChannel(channel: Channel): channel is SuppressedChannel {
  return channel !== 'push';
}

/** True for the suppression of an erased person. Nobody can read the address. */
export function isHashed({ address }: Pick<Suppression, 'address'>): boolean {
  return address.startsWith(HASHED_PREFIX);
}

/** Returns the message without its suppressed recipients, and the number of these. */
export function leaveOut(
  priced: PricedMessage,
  purpose: Purpose,
  suppressed: readonly SuppressedAddress[],
): PricedMessage & { readonly suppressedSkipped: number } {
  const stays = allowedBy(suppressed, purpose);
  const recipients = priced.recipients.filter(({ address }) => stays(address));
  const suppressedSkipped = priced.recipients.length - recipients.length;
  const payload = priced.payload && withoutCopies(priced.payload, stays);
  return { ...priced, payload, recipients, suppressedSkipped };
}

/** Returns the function that says whether a message of this purpose may go to an address. */
export function allowedBy(
  suppressed: readonly SuppressedAddress[],
  purpose: Purpose,
): (address: string) => boolean {
  const gone = new Set(
    suppressed
      .filter(({ scope }) => scope === 'all' || purpose === 'marketing')
      .map(({ address }) => address),
  );
  return (address) => !gone.has(address.toLowerCase());
}

/** Returns the payload of an email without its suppressed copies (cc, bcc). */
function withoutCopies(payload: Readonly<Record<string, unknown>>, stays: (address: string) => boolean) {
  const kept = ['cc', 'bcc'].flatMap((name) => {
    const addresses = payload[name];
    return Array.isArray(addresses) ? [[name, addresses.filter((each) => stays(String(each)))]] : [];
  });
  return { ...payload, ...Object.fromEntries(kept) };
}

/** Returns all addresses of a priced message, cc and bcc included, in lower case as suppressions store them. */
export function addressesOf({ recipients, payload }: PricedMessage): readonly string[] {
  return [...recipients.map(({ address }) => address), ...copiesOf(payload)].map((address) =>
    address.toLowerCase(),
  );
}

/** Returns the addresses of the copies (cc, bcc) of an email. */
export function copiesOf(payload: Readonly<Record<string, unknown>> | null): readonly string[] {
  return ['cc', 'bcc'].flatMap((name) => {
    const addresses = payload?.[name];
    return Array.isArray(addresses) ? addresses.map(String) : [];
  });
}
