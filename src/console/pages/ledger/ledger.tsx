import { Link, useLocation } from 'wouter';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import { useViewer } from '../../lib/session.tsx';
import { PRESETS, presetSpan } from '../../lib/spans.ts';
import { t } from '../../lib/words.ts';
import { Actor, actorName, actorText } from '../../ui/actor.tsx';
import { Badge } from '../../ui/badge.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { CsvExport } from '../../ui/csv-export.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Filters, useFilter, useTimeFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { CHANNEL_NAMES, whom } from '../messages/message-text.ts';
import { Ledger, LedgerMoved, type LedgerQuery } from './ledger.generated.ts';

const SLICE_MAX = 100;
const LIVE = [Ledger];
/** The periods that have a button. Others are typed. */
const OFFERED = ['today', 'month', 'last-month', '30d'];
const PERIODS = OFFERED.flatMap((offered) => PRESETS.filter(({ value }) => value === offered));

type Entry = NonNullable<LedgerQuery['ledger']>['nodes'][number];

/** The ledger, newest entry first, with a filter for the period and a CSV export. */
export default function LedgerPage() {
  const { span, preset } = useSpan();
  const [, navigate] = useLocation();
  const isWhole = span.from === null && span.to === null;
  const ledger = useApiQuery(Ledger, { ...span, first: PAGE_SIZE, after: useAfter() }, { keepsLast: true });
  useLiveRefetch(LedgerMoved, {}, LIVE);
  const currency = useViewer().account?.currency ?? '';
  const columns: readonly Column<Entry>[] = [
    { header: t('No.'), cell: ({ seq }) => seq },
    {
      header: t('Kind'),
      cell: ({ kind }) => <Badge status={kind === 'TOPUP' ? 'TOP-UP' : kind} />,
    },
    {
      header: t('Amount'),
      cell: ({ amount }) => <Money amount={amount} currency={currency} />,
      isNumber: true,
    },
    {
      header: t('Balance after'),
      cell: ({ balanceAfter }) => <Money amount={balanceAfter} currency={currency} />,
      isNumber: true,
    },
    { header: t('For'), cell: (entry) => <Cause of={entry} /> },
    { header: t('By'), cell: ({ actor }) => <Actor of={actor} /> },
    { header: t('When'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  ];
  return (
    <>
      <PageHeader title={t('Ledger')}>
        <ButtonLink href="/statement">{t('Monthly statement')}</ButtonLink>
        <CsvExport
          fileName={`ledger-${new Date().toISOString().slice(0, 10)}.csv`}
          header={[
            'seq',
            'createdAt',
            'kind',
            'amount',
            'balanceAfter',
            'currency',
            'messageId',
            'reference',
            'actor',
            'for',
            'by',
          ]}
          cellsOf={(entry: Entry) => [
            entry.seq,
            entry.createdAt,
            entry.kind,
            entry.amount,
            entry.balanceAfter,
            currency,
            entry.messageId,
            entry.reference,
            actorText(entry.actor),
            causeText(entry),
            actorName(entry.actor),
          ]}
          sliceAfter={async (after, signal) =>
            (await request(Ledger, { ...span, first: SLICE_MAX, after }, { signal })).ledger
          }
        >
          {t('Export as CSV')}
        </CsvExport>
      </PageHeader>
      <Choice
        label={t('Period')}
        options={PERIODS}
        chosen={preset}
        onChoose={(value) => navigate(value === preset?.value ? '/ledger' : `/ledger?period=${value}`)}
      />
      <Filters label={t('Filter the ledger')}>
        <Field name="from" label={t('From (time)')} type="datetime-local" />
        <Field name="to" label={t('To (time)')} type="datetime-local" />
      </Filters>
      <Loaded query={ledger}>
        {(data) => (
          <PagedTable
            of={data.ledger}
            caption={
              isWhole
                ? t('Every movement of the balance, the newest first; their sum is the balance')
                : t('What moved the balance in this time, the newest first')
            }
            columns={columns}
            keyOf={({ seq }) => String(seq)}
            empty={
              <EmptyState title={t('Nothing has moved the balance yet')}>
                <p>{t('Top-ups, charges for messages and refunds appear here.')}</p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}

/** Returns the period that the URL names, as one of the presets or by two times. */
function useSpan() {
  const name = useFilter('period');
  const typed = { from: useTimeFilter('from'), to: useTimeFilter('to') };
  const preset = PERIODS.find(({ value }) => value === name);
  const bounds = preset && presetSpan(preset.value, new Date());
  return { preset, span: bounds ? { from: bounds.from, to: bounds.to ?? null } : typed };
}

/** Shows what an entry is for: the recipients of a message, with a link to it, or the reference of a payment. */
function Cause({ of: entry }: { of: Entry }) {
  const text = causeText(entry);
  if (text === null) return <span className="quiet">–</span>;
  if (entry.message) return <Link href={`/messages/${entry.messageId}`}>{text}</Link>;
  return entry.messageId === null ? text : <span className="quiet">{text}</span>;
}

function causeText({ messageId, message, recipient, reference }: Entry): string | null {
  if (message) {
    // The recipients of a push message are devices, which people do not know.
    const to = recipient && message.channel !== 'PUSH' ? recipient.to : whom(message.to);
    return t('{channel} to {to}', { channel: CHANNEL_NAMES[message.channel], to });
  }
  return messageId === null ? reference : t('a message that is no longer kept');
}
