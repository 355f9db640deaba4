import { Link } from 'wouter';
import { useLiveRefetch } from '../../lib/live-refetch.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { request } from '../../lib/request.ts';
import { useViewer } from '../../lib/session.tsx';
import { Actor, actorText } from '../../ui/actor.tsx';
import { Badge } from '../../ui/badge.tsx';
import { CsvExport } from '../../ui/csv-export.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Filters, useTimeFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { Ledger, LedgerMoved, type LedgerQuery } from './ledger.generated.ts';

const SLICE_MAX = 100;
const LIVE = [Ledger];

type Entry = NonNullable<LedgerQuery['ledger']>['nodes'][number];

/** The ledger, newest entry first, with a filter for the period and a CSV export. */
export default function LedgerPage() {
  const span = { from: useTimeFilter('from'), to: useTimeFilter('to') };
  const isWhole = span.from === null && span.to === null;
  const ledger = useApiQuery(Ledger, { ...span, first: PAGE_SIZE, after: useAfter() }, { keepsLast: true });
  useLiveRefetch(LedgerMoved, {}, LIVE);
  const currency = useViewer().account?.currency ?? '';
  const columns: readonly Column<Entry>[] = [
    { header: 'No.', cell: ({ seq }) => seq },
    {
      header: 'Kind',
      cell: ({ kind }) => <Badge status={kind === 'TOPUP' ? 'TOP-UP' : kind} />,
    },
    { header: 'Amount', cell: ({ amount }) => <Money amount={amount} currency={currency} />, isNumber: true },
    {
      header: 'Balance after',
      cell: ({ balanceAfter }) => <Money amount={balanceAfter} currency={currency} />,
      isNumber: true,
    },
    { header: 'For', cell: (entry) => <Cause of={entry} /> },
    { header: 'By', cell: ({ actor }) => <Actor of={actor} /> },
    { header: 'When', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
  ];
  return (
    <>
      <PageHeader title="Ledger">
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
          ]}
          sliceAfter={async (after, signal) =>
            (await request(Ledger, { ...span, first: SLICE_MAX, after }, signal)).ledger
          }
        >
          Export as CSV
        </CsvExport>
      </PageHeader>
      <Filters label="Filter the ledger">
        <Field name="from" label="From" type="datetime-local" />
        <Field name="to" label="To" type="datetime-local" />
      </Filters>
      <Loaded query={ledger}>
        {(data) => (
          <PagedTable
            of={data.ledger}
            caption={
              isWhole
                ? 'Every movement of the balance, the newest first; their sum is the balance'
                : 'What moved the balance in this time, the newest first'
            }
            columns={columns}
            keyOf={({ seq }) => String(seq)}
            empty={
              <EmptyState title="Nothing has moved the balance yet">
                <p>Top-ups, charges for messages and refunds stand here.</p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}

function Cause({ of: { messageId, reference } }: { of: Entry }) {
  if (messageId !== null) return <Link href={`/messages/${messageId}`}>Message</Link>;
  return reference ?? <span className="quiet">–</span>;
}
