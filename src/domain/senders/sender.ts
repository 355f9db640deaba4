/**
 * A **sender** is a name under which an account sends: a sender ID of SMS, a domain of email (R430), or a WhatsApp number
 * (R550). It is `pending` until it is `approved` or `rejected`. An operator approves a sender ID, and a DNS record
 * approves a domain. An operator assigns a WhatsApp number, which is `approved` from the start. A sender belongs to one
 * account and one environment.
 */
import type { AccountEnvironment, Environment } from '../caller.ts';
import type { Purpose } from '../messages/message.ts';

export const SENDER_CHANNELS = ['sms', 'email', 'whatsapp'] as const;
/** Channels of the senders that accounts ask for themselves. */
export const REQUESTED_CHANNELS = ['sms', 'email'] as const;
export type SenderChannel = (typeof SENDER_CHANNELS)[number];
export const SENDER_STATUSES = ['pending', 'approved', 'rejected'] as const;
export type SenderStatus = (typeof SENDER_STATUSES)[number];
/** Kinds of DNS records of a domain. `verification` proves that the domain belongs to the account. */
export const SENDER_RECORD_KINDS = ['verification', 'dkim', 'spf'] as const;
export type SenderRecordKind = (typeof SENDER_RECORD_KINDS)[number];

/** The state of a sender ID at a network that registers sender IDs itself. */
export interface Registration {
  readonly network: string;
  readonly status: SenderStatus;
  /** The network's reference of the registration. */
  readonly reference: string | null;
}

/** TXT records that a check found, by kind. */
export type FoundRecords = Partial<Readonly<Record<SenderRecordKind, readonly string[]>>>;

export interface Sender extends AccountEnvironment {
  readonly id: string;
  readonly environment: Environment;
  readonly channel: SenderChannel;
  /** For SMS, the sender ID. For email, the domain in lower case. For WhatsApp, the number in E.164. */
  readonly name: string;
  readonly status: SenderStatus;
  readonly purposes: readonly Purpose[];
  readonly useCase: string | null;
  readonly company: string | null;
  /** The operator's answer in words. */
  readonly note: string | null;
  readonly registrations: readonly Registration[];
  /** The random part of the DNS record that proves a domain. Null on other channels. */
  readonly token: string | null;
  readonly found: FoundRecords;
  /** The platform's id of a WhatsApp number. Null on other channels. */
  readonly phoneNumberId: string | null;
  readonly createdAt: Date;
  readonly reviewedAt: Date | null;
  /** When the DNS record proved the domain, or the platform confirmed the WhatsApp number. */
  readonly verifiedAt: Date | null;
  /** When the DNS was asked last. */
  readonly checkedAt: Date | null;
}

/**
 * Returns a form that is equal for sender IDs that look alike (R433). It is in lower case, with `o` for `0`, and `l`
 * for `1` and `i`. A sender ID cannot contain letters of other alphabets (R92).
 */
export function lookOf(senderId: string): string {
  return senderId.toLowerCase().replaceAll('0', 'o').replaceAll(/[1i]/g, 'l');
}

/** Returns the form in which the names of a channel are compared. */
export function comparedName(channel: SenderChannel, name: string): string {
  return channel === 'sms' ? lookOf(name) : name;
}

/** A DNS record of a domain: the expected text, and the texts that the last check found. */
export interface SenderRecord {
  readonly kind: SenderRecordKind;
  /** Name of the TXT record. */
  readonly name: string;
  readonly expected: string;
  readonly found: readonly string[];
  readonly isRight: boolean;
}

/** What the DNS records of a domain must contain, so that receivers accept mails that the gateway sends from it. */
export interface MailRecords {
  /** The DKIM key of the gateway. Undefined if mails are not signed. */
  readonly dkim: { readonly selector: string; readonly record: string } | undefined;
  /** The domain whose SPF record admits the mail servers of the gateway. Undefined if there is none. */
  readonly spfDomain: string | undefined;
}

/** Returns the records of a domain (R434). Empty for other senders. */
export function recordsOf(
  { name: domain, channel, token, found }: Pick<Sender, 'name' | 'channel' | 'token' | 'found'>,
  { dkim, spfDomain }: MailRecords,
): readonly SenderRecord[] {
  if (channel !== 'email') return [];
  const record = (
    kind: SenderRecordKind,
    name: string,
    expected: string,
    isRight: (found: readonly string[]) => boolean,
  ): SenderRecord => {
    const texts = found[kind] ?? [];
    return { kind, name, expected, found: texts, isRight: isRight(texts) };
  };
  const proof = `gateway-verify=${token}`;
  return [
    record('verification', `_gateway-verify.${domain}`, proof, (texts) =>
      texts.some((text) => text.trim() === proof),
    ),
    ...(dkim
      ? [
          record('dkim', `${dkim.selector}._domainkey.${domain}`, dkim.record, (texts) =>
            hasDkimKey(texts, dkim.record),
          ),
        ]
      : []),
    ...(spfDomain !== undefined && spfDomain !== domain
      ? [
          record('spf', domain, `v=spf1 include:${spfDomain} ~all`, (texts) => {
            const [policy, ...others] = texts.filter(isSpf);
            // Receivers reject several SPF records of one name (RFC 7208, 4.5).
            return policy !== undefined && others.length === 0 && includes(policy, spfDomain);
          }),
        ]
      : []),
  ];
}

/** True for an SPF record. A domain has other TXT records under the same name. */
export function isSpf(text: string): boolean {
  return /^v=spf1( |$)/i.test(text);
}

function includes(policy: string, domain: string): boolean {
  const wanted = `include:${domain}`;
  return policy
    .toLowerCase()
    .split(/ +/)
    .some((term) => term.replace(/^\+/, '') === wanted);
}

/** Returns the public key in a DKIM record, without white space. */
/** True if one of the TXT records has the DKIM key of `record`. Other tags and spaces may differ. */
export function hasDkimKey(texts: readonly string[], record: string): boolean {
  return texts.some((text) => keyIn(text) === keyIn(record));
}

function keyIn(record: string): string | undefined {
  return /(?:^|;)\s*p=([^;]*)/.exec(record)?.[1]?.replaceAll(/\s/g, '');
}
