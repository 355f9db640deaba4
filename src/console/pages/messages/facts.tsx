import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { inEnvironment } from '../../lib/environment.ts';
import { formatAbsolute, formatName, formatNumber } from '../../lib/format.ts';
import { usePermission } from '../../lib/session.tsx';
import { Id } from '../../ui/code.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES, counted, ENVIRONMENT_NAMES, type Message } from './message-text.ts';

type Figure = Exclude<keyof Message['metadata'], 'costPerSms' | 'suppressedSkipped'>;

const FIGURES: Readonly<Record<Figure, string>> = {
  recipientsProcessed: 'Recipients accepted',
  invalidNumbersSkipped: 'Invalid numbers skipped',
  invalidAddressesSkipped: 'Invalid addresses skipped',
  duplicatesRemoved: 'Duplicates removed',
  messageLength: 'Length',
  encoding: 'Encoding',
  segments: 'Segments',
  smsCount: 'Billing units',
  devicesTargeted: 'Devices aimed at',
  devicesReached: 'Devices reached',
  devicesFailed: 'Devices not reached',
  devicesRemoved: 'Devices removed as gone',
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
      <h2 id="message-facts">The message</h2>
      <KeyValues
        items={shownOf([
          ['Id', <Id key="id" of={message.id} label="Message id" />],
          ['Channel', CHANNEL_NAMES[message.channel]],
          ['Environment', ENVIRONMENT_NAMES[message.environment]],
          ['From', message.from],
          ['Sent with', <SentWith key="with" apiKey={message.apiKey} />],
          ['Request', message.request && <RequestLink key="request" to={message.request} />],
          ['Accepted', <Exactly key="accepted" at={message.createdAt} />],
          ['Scheduled for', message.scheduledFor && <Exactly key="due" at={message.scheduledFor} />],
          ['Reason', message.statusReason && formatName(message.statusReason)],
          ['Provider id', message.sid && <Id key="sid" of={message.sid} label="Provider id" />],
          ...figures,
          ['Left out', message.metadata.suppressedSkipped ? <LeftOut key="left-out" of={message} /> : null],
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
      <Time at={at} /> <span className="quiet">{formatAbsolute(new Date(at))}</span>
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
  const text = `${counted(metadata.suppressedSkipped ?? 0, 'recipient')} who opted out`;
  if (!mayOpen) return text;
  return <Link href={inEnvironment(`/suppressions?channel=${channel}`, environment)}>{text}</Link>;
}

function SentWith({ apiKey }: { apiKey: Message['apiKey'] }) {
  const mayOpen = usePermission('apiKey.find');
  if (!apiKey) return 'the console, by a person';
  return mayOpen ? <Link href={`/api-keys/${apiKey.keyId}`}>{apiKey.name}</Link> : apiKey.name;
}
