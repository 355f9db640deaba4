import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { inEnvironment } from '../../lib/environment.ts';
import { formatName, formatNumber } from '../../lib/format.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Id } from '../../ui/code.tsx';
import { ExactTime, KeyValues, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES, ENVIRONMENT_NAMES, type Message } from './message-text.ts';

type Figure = Exclude<keyof Message['metadata'], 'costPerSms' | 'suppressedSkipped'>;

const FIGURES: Readonly<Record<Figure, string>> = {
  recipientsProcessed: t('Recipients accepted'),
  invalidNumbersSkipped: t('Invalid numbers skipped'),
  invalidAddressesSkipped: t('Invalid addresses skipped'),
  duplicatesRemoved: t('Duplicates removed'),
  messageLength: t('Length'),
  encoding: t('Encoding'),
  segments: t('Segments'),
  smsCount: t('Billing units'),
  devicesTargeted: t('Devices aimed at'),
  devicesReached: t('Devices reached'),
  devicesFailed: t('Devices not reached'),
  devicesRemoved: t('Devices removed as gone'),
};

/** Shows the properties of a message and its figures, such as the number of recipients. */
export function Facts({ of: message }: { of: Message }) {
  const figures = Object.entries(FIGURES).flatMap(([name, label]) => {
    const value = message.metadata[name as Figure];
    // A count of 0 skipped or removed recipients is not worth a line.
    if (value === null || (value === 0 && /(Skipped|Removed)$/.test(name))) return [];
    return [[label, typeof value === 'number' ? formatNumber(value) : value] as const];
  });
  return (
    <section className="card stack" aria-labelledby="message-facts">
      <h2 id="message-facts">{t('The message')}</h2>
      <KeyValues
        items={shownOf([
          [t('Id'), <Id key="id" of={message.id} label={t('Message id')} />],
          [t('Channel'), CHANNEL_NAMES[message.channel]],
          [t('Environment'), ENVIRONMENT_NAMES[message.environment]],
          [t('From'), message.from],
          [t('Sent with'), <SentWith key="with" apiKey={message.apiKey} />],
          [t('Request'), message.request && <RequestLink key="request" to={message.request} />],
          [t('Accepted'), <Exactly key="accepted" at={message.createdAt} />],
          [t('Scheduled for'), message.scheduledFor && <Exactly key="due" at={message.scheduledFor} />],
          [t('Held until'), message.heldUntil && <Held key="held" at={message.heldUntil} />],
          [t('Reason'), message.statusReason && formatName(message.statusReason)],
          [t('Provider id'), message.sid && <Id key="sid" of={message.sid} label={t('Provider id')} />],
          ...figures,
          [
            t('Left out'),
            message.metadata.suppressedSkipped ? <LeftOut key="left-out" of={message} /> : null,
          ],
        ])}
      />
    </section>
  );
}

/** Drops the properties that the message does not have. */
function shownOf(items: readonly (readonly [string, ReactNode])[]) {
  return items.filter(([, value]) => value !== null && value !== '');
}

/** Shows a time both as relative time and as exact time. */
function Exactly({ at }: { at: string }) {
  return (
    <>
      <Time at={at} />{' '}
      <span className="quiet">
        <ExactTime at={at} />
      </span>
    </>
  );
}

/** Until when quiet hours hold the message, or held it. */
function Held({ at }: { at: string }) {
  return (
    <>
      <Exactly at={at} /> <span className="quiet">{t('(quiet hours)')}</span>
    </>
  );
}

function RequestLink({ to: { id, method, path } }: { to: NonNullable<Message['request']> }) {
  return (
    <Link href={`/requests?request=${id}`}>
      <code>{`${method} ${path}`}</code>
    </Link>
  );
}

/** How many recipients were left out because they opted out, with a link to the list of opt-outs. */
function LeftOut({ of: { channel, environment, metadata } }: { of: Message }) {
  const mayOpen = usePermission('suppression.slice');
  const text = t('{count, plural, one {# recipient who opted out} other {# recipients who opted out}}', {
    count: metadata.suppressedSkipped ?? 0,
  });
  if (!mayOpen) return text;
  return <Link href={inEnvironment(`/suppressions?channel=${channel}`, environment)}>{text}</Link>;
}

function SentWith({ apiKey }: { apiKey: Message['apiKey'] }) {
  const mayOpen = usePermission('apiKey.find');
  if (!apiKey) return t('the console, by a person');
  return mayOpen ? <Link href={`/api-keys/${apiKey.keyId}`}>{apiKey.name}</Link> : apiKey.name;
}
