import { useApiQuery } from '../../lib/queries.ts';
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
  { header: 'Name', cell: ({ name }) => name },
  { header: 'Email', cell: ({ email }) => email },
  { header: 'Plan', cell: ({ plan }) => plan?.name ?? <span className="quiet">none</span> },
  {
    header: 'Balance',
    cell: ({ balance, currency }) => <Money amount={balance} currency={currency} />,
    isNumber: true,
  },
  { header: 'Created', cell: ({ createdAt }) => <Time at={createdAt} />, isWhole: true },
];

/** For operators: the list of all accounts. */
export default function AccountsPage() {
  const variables = { first: PAGE_SIZE, after: useAfter(), search: useFilter('search') };
  const accounts = useApiQuery(Accounts, variables, { keepsLast: true });
  return (
    <>
      <PageHeader title="Accounts">
        <ButtonLink href="/accounts/new" look="primary">
          Create an account
        </ButtonLink>
      </PageHeader>
      <Filters label="Search accounts">
        <Field name="search" label="Search" type="search" placeholder="Name or email" />
      </Filters>
      <Loaded query={accounts}>
        {(data) => (
          <PagedTable
            of={data.accounts}
            caption="The newest first"
            columns={COLUMNS}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => `/accounts/${id}`}
            empty={
              <EmptyState title="No accounts yet">
                <p>An account owns keys, messages and a balance. Create the first.</p>
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </>
  );
}
