import { useParams } from 'wouter';
import { formatNumber } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Id } from '../../ui/code.tsx';
import { Select } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { KeyValues, Money, Time } from '../../ui/values.tsx';
import { RetentionForm } from '../account/retention-form.tsx';
import { PeopleOfAccount } from './account-people.tsx';
import {
  type AccountRowFragment,
  Accounts,
  OperatedAccount,
  Plans,
  SetAccountPlan,
} from './operator.generated.ts';
import { TopUp } from './top-up.tsx';

/** For operators: the page of one account with its balance, plan and retention. */
export default function AccountPage() {
  const { id } = useParams<{ id: string }>();
  const query = useApiQuery(OperatedAccount, { id });
  return (
    <Loaded query={query}>
      {({ account }) => (
        <>
          <PageHeader title={account.name}>
            <ButtonLink href={`/api-keys/new?account=${account.id}`}>Create an API key</ButtonLink>
            <ButtonLink href={`/audit?target=${account.id}`}>Audit log</ButtonLink>
          </PageHeader>
          <div className="columns">
            <div className="stack">
              <section className="card stack" aria-labelledby="facts">
                <h2 id="facts">The account</h2>
                <KeyValues
                  items={[
                    ['Balance', <Money key="balance" amount={account.balance} currency={account.currency} />],
                    ['Email', account.email],
                    ['Currency', account.currency],
                    ['Plan', account.plan?.name ?? 'No plan (default limits)'],
                    ['Created', <Time key="created" at={account.createdAt} />],
                    ['Account id', <Id key="id" of={account.id} label="Account id" />],
                  ]}
                />
              </section>
              <AccountPlan of={account} />
              <PeopleOfAccount accountId={account.id} />
              <RetentionForm of={account.retention} accountId={account.id} refetches={[OperatedAccount]} />
            </div>
            <TopUp of={account} />
          </div>
        </>
      )}
    </Loaded>
  );
}

function AccountPlan({ of }: { of: AccountRowFragment }) {
  const toast = useToast();
  const plans = useApiQuery(Plans, {});
  const set = useApiMutation(SetAccountPlan, { refetches: [OperatedAccount, Accounts] });
  const put = (plan: string | null) => {
    const undo = () => set.mutateNext({ accountId: of.id, plan: of.plan?.name ?? null });
    const text = plan === null ? 'The account is on no plan.' : `The account is on the plan ${plan}.`;
    set.mutate({ accountId: of.id, plan }, { onSuccess: () => toast({ text, undo }) });
  };
  return (
    <section className="card stack" aria-labelledby="plan">
      <h2 id="plan">Plan</h2>
      <Loaded query={plans}>
        {({ plans: all }) => (
          <Form
            // A new plan changes the React key, so that the form shows the stored plan, also after an undo.
            key={of.plan?.name}
            label="Plan of the account"
            error={set.error}
            onSubmit={(values) => put(textOf(values, 'plan') || null)}
          >
            <Select
              name="plan"
              label="Plan"
              hint="How many requests each of its keys may make, unless the key has limits of its own."
              defaultValue={of.plan?.name ?? ''}
              options={[
                { value: '', label: 'No plan (default limits)' },
                ...all.map(({ name, perMinute }) => ({
                  value: name,
                  label: `${name}: ${formatNumber(perMinute)} a minute`,
                })),
              ]}
            />
            <div className="row">
              <Button type="submit" isBusy={set.isPending}>
                Put on this plan
              </Button>
            </div>
          </Form>
        )}
      </Loaded>
    </section>
  );
}
