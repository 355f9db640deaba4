import { useState } from 'react';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { T } from '../../ui/t.tsx';
import { Time } from '../../ui/values.tsx';
import { LocalPages } from './local-pages.tsx';
import { type Message, STATUS_NAMES } from './message-text.ts';
import type { MessageStatus } from './messages.generated.ts';

type Recipient = Message['recipients'][number];

/** The list has filters if it has more recipients than this. */
const MANY = 10;

const COLUMNS: readonly Column<Recipient>[] = [
  { header: t('To'), cell: ({ to }) => to },
  {
    header: t('Status'),
    cell: ({ status, heldUntil }) => (
      <span className="message-status">
        <Badge status={status} />
        {status === 'PENDING' && heldUntil && (
          <span className="quiet">
            <T text="held until {time}" time={<Time at={heldUntil} />} />
          </span>
        )}
      </span>
    ),
  },
  {
    header: t('Error'),
    cell: ({ error }) =>
      error ? (
        <>
          {error.message} <code className="quiet">{error.code}</code>
        </>
      ) : (
        <span className="quiet">{t('none')}</span>
      ),
  },
  { header: t('Sent'), cell: ({ sentAt }) => <Time at={sentAt} otherwise="–" /> },
  {
    header: t('Settled'),
    cell: ({ deliveredAt, failedAt, readAt }) => (
      <>
        <Time at={deliveredAt ?? failedAt} otherwise="–" />
        {readAt && (
          <>
            {', '}
            <T text="read {time}" time={<Time at={readAt} />} />
          </>
        )}
      </>
    ),
  },
  {
    header: t('Provider id'),
    cell: ({ sid }) => (sid ? <code>{sid}</code> : <span className="quiet">–</span>),
  },
];

/** The list of a message's recipients and their status, with filters and pages. */
export function Recipients({ of: { recipients } }: { of: Message }) {
  const [status, setStatus] = useState('');
  const [text, setText] = useState('');
  const shown = recipients.filter(
    (each) => (status === '' || each.status === status) && (text === '' || each.to.includes(text.trim())),
  );
  const counts = Map.groupBy(recipients, (each) => each.status);
  const summary = [...counts].map(
    ([name, all]) => `${formatNumber(all.length)} ${STATUS_NAMES[name].toLowerCase()}`,
  );
  const options = Object.entries(STATUS_NAMES).flatMap(([value, label]) => {
    const count = counts.get(value as MessageStatus)?.length ?? 0;
    return count === 0 ? [] : [{ value, label: `${label} (${formatNumber(count)})` }];
  });
  return (
    <section className="stack" aria-labelledby="message-recipients">
      <h2 id="message-recipients">{t('Recipients')}</h2>
      {recipients.length > MANY && (
        <div className="message-narrow">
          <Select
            name="recipientStatus"
            label={t('Status')}
            value={status}
            onChange={(event) => setStatus(event.currentTarget.value)}
            options={[{ value: '', label: t('All ({count})', { count: recipients.length }) }, ...options]}
          />
          <Field
            name="recipientText"
            label={t('Part of the address')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </div>
      )}
      <LocalPages label={t('Recipients')} rows={shown} pageSize={50}>
        {(page) => (
          <DataTable
            caption={shown.length === 0 ? t('None of them matches') : summary.join(', ')}
            columns={COLUMNS}
            rows={page}
            keyOf={({ to }) => to}
          />
        )}
      </LocalPages>
    </section>
  );
}
