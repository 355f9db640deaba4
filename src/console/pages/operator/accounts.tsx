import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { TroubledAccounts, Troubles } from '../overview/troubled-accounts.tsx';
import { Accounts, type AccountsQuery, TroubledAccounts as TroubledQuery } from './operator.generated.ts';

type Row = NonNullable<AccountsQuery['accounts']>['nodes'][number];

const BY_BALANCE = 'balance';
const BY_TROUBLE = 'trouble';
const ORDERS = [
  { value: '', label: t('The newest first') },
  { value: BY_BALANCE, label: t('The lowest balance first') },
  { value: BY_TROUBLE, label: t('The most trouble first') },
];

const COLUMNS: readonly Column<Row>[] = [
  { header: t('Name'), cell: ({ name }) => name },
  { header: t('Email'), cell: ({ email }) => email },
  { header: t('Plan'), cell: ({ plan }) => plan?.name ?? <span className="quiet">{t('none')}</span> },
  {
    header: t('Balance'),
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
    isNumber: true,
  },
  {
    header: t('Trouble'),
    cell: ({ troubles }) =>
      troubles && troubles.length > 0 ? (
        <Troubles of={troubles} />
      ) : (
        <span className="quiet">{t('none')}</span>
      ),
  },
  { header: t('Created'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];

/** For operators: the list of all accounts, by age, by balance or by trouble (R525). */
export default function AccountsPage() {
  const order = useFilter('order');
  const search = useFilter('search');
  return (
    <>
      <PageHeader title={t('Accounts')}>
        <ButtonLink href="/accounts/new" look="primary">
          {t('Create an account')}
        </ButtonLink>
      </PageHeader>
      <Filters label={t('Search accounts')}>
        <Field name="search" label={t('Search')} type="search" placeholder={t('Name or email')} />
        <Select name="order" label={t('Order')} options={ORDERS} />
      </Filters>
      {order === BY_TROUBLE ? (
        <ByTrouble search={search ?? ''} />
      ) : (
        <Listed search={search} isByBalance={order === BY_BALANCE} />
      )}
    </>
  );
}

function Listed({ search, isByBalance }: { search: string | null; isByBalance: boolean }) {
  const variables = {
    first: PAGE_SIZE,
    after: useAfter(),
    search,
    orderBy: isByBalance ? ('BALANCE' as const) : ('NEWEST' as const),
  };
  const accounts = useApiQuery(Accounts, variables, { keepsLast: true });
  return (
    <Loaded query={accounts}>
      {(data) => (
        <PagedTable
          of={data.accounts}
          caption={isByBalance ? t('By currency, the lowest balance first') : t('The newest first')}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => `/accounts/${id}`}
          empty={
            <EmptyState title={t('No accounts yet')}>
              <p>{t('An account owns keys, messages and a balance. Create the first.')}</p>
            </EmptyState>
          }
        />
      )}
    </Loaded>
  );
}

/** The accounts that need an operator, the worst first. At most 100, and without pages. */
function ByTrouble({ search }: { search: string }) {
  const query = useApiQuery(TroubledQuery, {}, { keepsLast: true });
  return (
    <Loaded query={query}>
      {({ troubledAccounts }) => {
        const found = troubledAccounts.filter(({ name, email }) =>
          `${name}\n${email}`.toLowerCase().includes(search.toLowerCase()),
        );
        return found.length === 0 ? (
          <EmptyState title={t('No account needs attention')} />
        ) : (
          <TroubledAccounts accounts={found} />
        );
      }}
    </Loaded>
  );
}
