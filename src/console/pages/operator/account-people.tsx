import { useState } from 'react';
import { useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Loaded } from '../../ui/states.tsx';
import { ResetFactors, ResetPassword } from '../members/reset-sign-in.tsx';
import { AccountPeople, type AccountPeopleQuery } from './operator.generated.ts';

type Person = NonNullable<NonNullable<AccountPeopleQuery['account']>['members']>[number];

/**
 * The people of an account, whose lost sign-ins an operator resets. They are read only when the operator asks, because
 * each reading is an entry of the account's audit log (R290).
 */
export function PeopleOfAccount({ accountId }: { accountId: string }) {
  const [isShown, setIsShown] = useState(false);
  return (
    <section className="card stack" aria-labelledby="account-people">
      <h2 id="account-people">{t('People')}</h2>
      {isShown ? (
        <PeopleTable accountId={accountId} />
      ) : (
        <>
          <p className="quiet">
            {t('The account sees in its audit log that you have looked at its people.')}
          </p>
          <div className="row">
            <Button onClick={() => setIsShown(true)}>{t('Show its people')}</Button>
          </div>
        </>
      )}
    </section>
  );
}

function PeopleTable({ accountId }: { accountId: string }) {
  const query = useApiQuery(AccountPeople, { id: accountId });
  const columns: readonly Column<Person>[] = [
    { header: t('Email'), cell: ({ email }) => email },
    { header: t('Role'), cell: ({ role }) => <Badge status={role} /> },
    {
      header: t('Lost sign-in'),
      cell: (person) => (
        <Can run="secondFactor.reset" otherwise={<span className="quiet">{t('You only read')}</span>}>
          <span className="row">
            <ResetFactors of={person} />
            <ResetPassword of={person} accountId={accountId} />
          </span>
        </Can>
      ),
      isWhole: true,
    },
  ];
  return (
    <Loaded query={query}>
      {({ account }) => (
        <DataTable
          caption={t('Everybody who can sign in to this account')}
          columns={columns}
          rows={account.members ?? []}
          keyOf={({ id }) => id}
        />
      )}
    </Loaded>
  );
}
