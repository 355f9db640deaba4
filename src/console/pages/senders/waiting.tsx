import { useEnvironment } from '../../lib/environment.ts';
import { formatNumber } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PAGE_SIZE } from '../../ui/paged-table.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { purposesText } from './sender-text.ts';
import { type SenderRowFragment, Senders } from './senders.generated.ts';

const NONE = <span className="quiet">not said</span>;
const COLUMNS: readonly Column<SenderRowFragment>[] = [
  { header: 'Sender ID', cell: ({ senderId }) => senderId },
  { header: 'Company', cell: ({ company }) => company ?? NONE },
  { header: 'What is sent', cell: ({ useCase }) => useCase ?? NONE },
  { header: 'Purposes', cell: ({ purposes }) => purposesText(purposes) },
  { header: 'Waits since', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];

/**
 * For operators: the sender IDs of all accounts that wait for their answer. Domains are not in it, because a DNS record
 * approves them.
 */
export function WaitingSenders() {
  const query = useApiQuery(Senders, {
    first: PAGE_SIZE,
    channel: 'SMS',
    status: 'PENDING',
    environment: useEnvironment(),
  });
  return (
    <section className="stack" aria-labelledby="waiting">
      <h2 id="waiting">Waits for review</h2>
      <Loaded query={query}>
        {({ senders: { nodes, totalCount } }) =>
          nodes.length === 0 ? (
            <p className="quiet">No sender ID waits for an answer.</p>
          ) : (
            <DataTable
              caption={`${formatNumber(nodes.length)} of ${formatNumber(totalCount)}, the newest first`}
              columns={COLUMNS}
              rows={nodes}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/senders/${id}`}
            />
          )
        }
      </Loaded>
    </section>
  );
}
