import { Link, useParams } from 'wouter';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Id } from '../../ui/code.tsx';
import { Select } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { T } from '../../ui/t.tsx';
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
import { WhatsAppNumber } from './whatsapp-number.tsx';

/** For operators: the page of one account with its balance, plan and retention. */
export default function AccountPage() {
  const { id } = useParams<{ id: string }>();
  const query = useApiQuery(OperatedAccount, { id });
  return (
    <Loaded query={query}>
      {({ account, prices }) => (
        <>
          <PageHeader title={account.name}>
            <ButtonLink href={`/api-keys/new?account=${account.id}`}>{t('Create an API key')}</ButtonLink>
            <Can run="apiKey.setRateLimit">
              <ButtonLink href={`/key-limits?account=${account.id}`}>{t('Limits of its keys')}</ButtonLink>
            </Can>
            <ButtonLink href={`/audit?account=${encodeURIComponent(account.email)}`}>
              {t('Audit log')}
            </ButtonLink>
          </PageHeader>
          {!prices.some(({ currency }) => currency === account.currency) && (
            <Notice tone="warn">
              <T
                text="No prices are set in {currency}, so the account cannot send: <link>set prices</link>."
                currency={account.currency}
                link={<Link href="/prices" />}
              />
            </Notice>
          )}
          <div className="columns">
            <div className="stack">
              <section className="card stack" aria-labelledby="facts">
                <h2 id="facts">{t('The account')}</h2>
                <KeyValues
                  items={[
                    [
                      t('Balance'),
                      <Money key="balance" amount={account.balance} currency={account.currency} />,
                    ],
                    [t('Email'), account.email],
                    [t('Currency'), account.currency],
                    [t('Plan'), account.plan?.name ?? t('No plan (default limits)')],
                    [t('Created'), <Time key="created" at={account.createdAt} />],
                    [t('Account id'), <Id key="id" of={account.id} label={t('Account id')} />],
                  ]}
                />
              </section>
              <AccountPlan of={account} />
              <WhatsAppNumber accountId={account.id} />
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
    const text =
      plan === null ? t('The account is on no plan.') : t('The account is on the plan {plan}.', { plan });
    set.mutate({ accountId: of.id, plan }, { onSuccess: () => toast({ text, undo }) });
  };
  return (
    <section className="card stack" aria-labelledby="plan">
      <h2 id="plan">{t('Plan')}</h2>
      <Loaded query={plans}>
        {({ plans: all }) => (
          <Form
            // A new plan changes the React key, so that the form shows the stored plan, also after an undo.
            key={of.plan?.name}
            label={t('Plan of the account')}
            error={set.error}
            onSubmit={(values) => put(textOf(values, 'plan') || null)}
          >
            <Select
              name="plan"
              label={t('Plan')}
              hint={t('How many requests each of its keys may make, unless the key has limits of its own.')}
              defaultValue={of.plan?.name ?? ''}
              options={[
                { value: '', label: t('No plan (default limits)') },
                ...all.map(({ name, perMinute }) => ({
                  value: name,
                  label: t('{name}: {perMinute} a minute', { name, perMinute }),
                })),
              ]}
            />
            <div className="row">
              <Button type="submit" isBusy={set.isPending}>
                {t('Put on this plan')}
              </Button>
            </div>
          </Form>
        )}
      </Loaded>
    </section>
  );
}
