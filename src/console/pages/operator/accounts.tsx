import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { ButtonLink } from '../../ui/button.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Filters, useFilter } from '../../ui/filters.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { PAGE_SIZE, PagedTable } from '../../ui/paged-table.tsx';
import { useAfter } from '../../ui/pager.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Money, Time } from '../../ui/values.tsx';
import { type AccountRowFragment, Accounts } from './operator.generated.ts';

const COLUMNS: readonly Column<AccountRowFragment>[] = [
  { header: t('Name'), cell: ({ name }) => name },
  { header: t('Email'), cell: ({ email }) => email },
  { header: t('Plan'), cell: ({ plan }) => plan?.name ?? <span className="quiet">{t('none')}</span> },
  {
    header: t('Balance'),
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
    isNumber: true,
  },
  { header: t('Created'), cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];

/** For operators: the list of all accounts. */
export default function AccountsPage() {
  const variables = { first: PAGE_SIZE, after: useAfter(), search: useFilter('search') };
  const accounts = useApiQuery(Accounts, variables, { keepsLast: true });
  return (
    <>
      <PageHeader title={t('Accounts')}>
        <ButtonLink href="/accounts/new" look="primary">
          {t('Create an account')}
        </ButtonLink>
      </PageHeader>
      <Filters label={t('Search accounts')}>
        <Field name="search" label={t('Search')} type="search" placeholder={t('Name or email')} />
      </Filters>
      <Loaded query={accounts}>
        {(data) => (
          <PagedTable
            of={data.accounts}
            caption={t('The newest first')}
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
    </>
  );
}
