import { useEffect, useEffectEvent, useState } from 'react';
import { Link } from 'wouter';
import { useHistoryState } from 'wouter/use-browser-location';
import { counted } from '../../lib/counts.ts';
import { formatName } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loading } from '../../ui/states.tsx';
import { KeyValues, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { LookUpMessages, type LookUpMessagesMutation } from './look-up.generated.ts';

type Found = NonNullable<LookUpMessagesMutation['lookUpMessages']>[number];
type Recipient = Found['recipients'][number];
type Moment = Found['timeline'][number];

const RECIPIENTS: readonly Column<Recipient>[] = [
  { header: t('Recipient'), cell: ({ address }) => address, isWhole: true },
  { header: t('Status'), cell: ({ status }) => <Badge status={status} />, isWhole: true },
  {
    header: t('Reason'),
    cell: ({ errorCode, errorMessage }) => (errorCode === null ? '–' : `${errorCode}: ${errorMessage ?? ''}`),
  },
  { header: t('Carrier'), cell: ({ provider }) => (provider === null ? '–' : <code>{provider}</code>) },
  { header: t("Carrier's id"), cell: ({ sid }) => (sid === null ? '–' : <code>{sid}</code>) },
];
const TIMELINE: readonly Column<Moment>[] = [
  { header: t('When'), cell: ({ at }) => <Time at={at} />, isWhole: true },
  { header: t('What'), cell: ({ status }) => status },
  { header: t('Recipient'), cell: ({ recipient }) => recipient ?? '–', isWhole: true },
  { header: t('Details'), cell: ({ detail }) => detail ?? '–' },
];

/**
 * For operators: finds messages of any account. Each look-up is in the audit logs, so it is made only when a person
 * asks for it: on submit, or in the search, which hands its text over in the state of the history. The text is never in
 * the URL, because proxies and browsers keep URLs.
 */
export default function LookUpPage() {
  const handedOver = useHistoryState<{ lookUp?: string } | null>()?.lookUp;
  const [query, setQuery] = useState('');
  const lookUp = useApiMutation(LookUpMessages);
  const make = (text: string) => {
    setQuery(text);
    void lookUp.mutateNext({ query: text }).catch(() => undefined);
  };
  const makeHandedOver = useEffectEvent((text: string) => {
    // Take it out of the history, so that a page that is loaded again does not repeat the look-up.
    history.replaceState(null, '');
    make(text);
  });
  useEffect(() => {
    if (handedOver !== undefined) makeHandedOver(handedOver);
  }, [handedOver]);
  const found = lookUp.data?.lookUpMessages;
  return (
    <>
      <PageHeader title={t('Look up a message')} />
      <p className="quiet">
        {t(
          'In all accounts, by its id, the id of a carrier, or the whole number or email of a recipient. Texts stay hidden. Each look-up is in the audit log of the platform, and of each account whose messages you see.',
        )}
      </p>
      <Form
        label={t('Look up a message')}
        error={lookUp.error}
        onSubmit={(values) => make(textOf(values, 'query').trim())}
      >
        <Field
          key={query}
          name="query"
          label={t('Number, email or id')}
          defaultValue={query}
          autoComplete="off"
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={lookUp.isPending}>
            {t('Look up')}
          </Button>
        </div>
      </Form>
      {lookUp.isPending && <Loading />}
      {!lookUp.isPending && found?.length === 0 && (
        <EmptyState title={t('Nothing found')}>
          <p>{t('An id and a number must be whole. Messages that retention deleted are not found.')}</p>
        </EmptyState>
      )}
      {!lookUp.isPending && found?.map((message) => <FoundMessage key={message.id} of={message} />)}
    </>
  );
}

function FoundMessage({ of: message }: { of: Found }) {
  const { id, accountId, accountName, channel, environment, recipients, recipientCount } = message;
  const title = t('{channel} of {account}', { channel: CHANNEL_NAMES[channel], account: accountName });
  const count = counted(recipientCount, 'recipient');
  return (
    <section className="card stack" aria-label={title}>
      <div className="row spread">
        <h2>{title}</h2>
        <Badge status={message.status} />
      </div>
      <KeyValues
        items={[
          [
            t('Account'),
            <Link key="account" href={`/accounts/${accountId}`}>
              {accountName}
            </Link>,
          ],
          [t('Message id'), <code key="id">{id}</code>],
          [t('Accepted'), <Time key="at" at={message.createdAt} />],
          [t('Environment'), <Badge key="environment" status={environment} />],
          [t('Sender'), message.sender || '–'],
          [
            t('Text'),
            t('{count, plural, one {# character, hidden} other {# characters, hidden}}', {
              count: message.textLength,
            }),
          ],
          ...(message.statusReason === null
            ? []
            : [[t('Reason'), formatName(message.statusReason)] as const]),
        ]}
      />
      <DataTable
        caption={
          recipients.length < recipientCount
            ? t('{shown} of {all}', { shown: recipients.length, all: count })
            : count
        }
        columns={RECIPIENTS}
        rows={recipients}
        keyOf={(recipient) => `${recipient.address} ${recipients.indexOf(recipient)}`}
      />
      <DataTable
        caption={t('Timeline')}
        columns={TIMELINE}
        rows={message.timeline}
        keyOf={(moment) => String(message.timeline.indexOf(moment))}
      />
    </section>
  );
}
