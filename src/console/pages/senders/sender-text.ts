import { formatList, formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import type { Tone } from '../../ui/notice.tsx';
import type { SenderRowFragment } from './senders.generated.ts';

type Sender = SenderRowFragment;
type Named = Pick<Sender, 'id' | 'senderId' | 'domain' | 'number'>;

export const CHANNEL_NAMES: Readonly<Record<Sender['channel'], string>> = {
  SMS: t('Sender ID of SMS'),
  EMAIL: t('Email domain'),
  WHATSAPP: t('WhatsApp number'),
};

/** What messages of each purpose are, for the person who chooses. */
export const PURPOSE_HINTS: Readonly<Record<Sender['purposes'][number], string>> = {
  TRANSACTIONAL: t('Receipts, reminders, alerts: what somebody expects from you.'),
  OTP: t('Codes for signing in and confirming.'),
  MARKETING: t('Offers and news, only to people who agreed.'),
};

/** Returns the sender ID, the domain or the number. */
export function nameOf({ id, senderId, domain, number }: Named): string {
  return senderId ?? domain ?? number ?? id;
}

export function purposesText(purposes: Sender['purposes']): string {
  return purposes.map(formatName).join(', ');
}

/** Returns how urgent the next step is. */
export function toneOf({ status, environment, records }: Sender): Tone {
  if (status !== 'APPROVED') return status === 'REJECTED' ? 'bad' : 'warn';
  return environment === 'SANDBOX' || records.every(({ isRight }) => isRight) ? 'good' : 'warn';
}

/** Says what the account should do next about its sender. */
export function nextStepOf(sender: Sender): string {
  if (sender.status === 'REJECTED') {
    return t(
      'Read the answer of the operator. Then remove the sender, and request it again with what was missing.',
    );
  }
  switch (sender.channel) {
    case 'SMS':
      return nextStepOfSenderId(sender);
    case 'EMAIL':
      return nextStepOfDomain(sender);
    case 'WHATSAPP':
      return t('Your WhatsApp messages leave from it. The operator of this gateway assigns it.');
  }
}

function nextStepOfSenderId({ status, registrations }: Sender): string {
  if (status === 'PENDING') return t('Wait: the operator of this gateway reviews it.');
  const missing = registrations.filter((each) => each.status !== 'APPROVED').map(({ network }) => network);
  const ready = t('Use it as the sender of your SMS.');
  if (missing.length === 0) return ready;
  return `${ready} ${t('It is not registered yet at {networks}.', { networks: formatList(missing) })}`;
}

function nextStepOfDomain({ status, environment, records, checkedAt }: Sender): string {
  const ready = t('Use addresses of this domain as the sender of your emails.');
  // The sandbox never reads the DNS.
  if (environment === 'SANDBOX') return ready;
  if (status === 'PENDING') {
    if (checkedAt === null) return t('Publish its DNS records, then check them.');
    const proof = records.find(({ kind }) => kind === 'VERIFICATION');
    return proof === undefined || proof.found.length === 0
      ? t(
          'The verification record is not in the DNS yet. A new record can take an hour to be seen: check again later.',
        )
      : t('The verification record has another text. Correct it, then check again.');
  }
  const wrong = records.filter(({ isRight }) => !isRight).map(({ kind }) => kind);
  if (wrong.length === 0) return ready;
  return `${ready} ${t('Correct {records} in the DNS, so that receivers trust them.', { records: formatList(wrong) })}`;
}
