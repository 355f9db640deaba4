import { useEnvironment } from '../../lib/environment.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { PAGE_SIZE } from '../../ui/paged-table.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { purposesText } from './sender-text.ts';
import { type SenderRowFragment, Senders } from './senders.generated.ts';

const NONE = <span className="quiet">{t('not said')}</span>;
const COLUMNS: readonly Column<SenderRowFragment>[] = [
  { header: t('Sender ID'), cell: ({ senderId }) => senderId },
  { header: t('Account'), cell: ({ account }) => account?.name },
  { header: t('Company'), cell: ({ company }) => company ?? NONE },
  { header: t('What is sent'), cell: ({ useCase }) => useCase ?? NONE },
  { header: t('Purposes'), cell: ({ purposes }) => purposesText(purposes) },
  { header: t('Waits since'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
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
      <h2 id="waiting">{t('Waits for review')}</h2>
      <Loaded query={query}>
        {({ senders: { nodes, totalCount } }) =>
          nodes.length === 0 ? (
            <p className="quiet">{t('No sender ID waits for an answer.')}</p>
          ) : (
            <DataTable
              caption={t('{shown} of {totalCount}, the newest first', { shown: nodes.length, totalCount })}
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
