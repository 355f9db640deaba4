import { useState } from 'react';
import { formatNumber } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Accounts, OperatedAccount, type PlanRowFragment, Plans, SetPlan } from './operator.generated.ts';

const sessionLimitOf = (perMinute: number | null) =>
  perMinute === null ? t('default') : formatNumber(perMinute);
const limitOf = (perSecond: number) => (perSecond === 0 ? t('no limit') : formatNumber(perSecond));

const COLUMNS: readonly Column<PlanRowFragment>[] = [
  { header: t('Name'), cell: ({ name }) => name, isWhole: true },
  { header: t('A minute'), cell: ({ perMinute }) => formatNumber(perMinute), isNumber: true },
  { header: t('A second'), cell: ({ perSecond }) => limitOf(perSecond), isNumber: true },
  {
    header: t('Webhooks'),
    cell: ({ webhooksPerMinute }) => formatNumber(webhooksPerMinute),
    isNumber: true,
  },
  { header: t('Sessions'), cell: ({ sessionPerMinute }) => sessionLimitOf(sessionPerMinute), isNumber: true },
];

/** For operators: the list of plans. A plan limits the requests of API keys and of people. */
export default function PlansPage() {
  const query = useApiQuery(Plans, {});
  return (
    <>
      <PageHeader title={t('Plans')} />
      <Loaded query={query}>
        {({ plans }) => (
          <div className="columns">
            {plans.length === 0 ? (
              <EmptyState title={t('No plans yet')}>
                <p>{t('Without a plan, the default limits apply to every key.')}</p>
              </EmptyState>
            ) : (
              <DataTable
                caption={t(
                  'Requests that each key of an account may make, webhooks that it may register a minute, and requests a minute of each session of its people',
                )}
                columns={COLUMNS}
                rows={plans}
                keyOf={({ name }) => name}
              />
            )}
            <PlanForm plans={plans} />
          </div>
        )}
      </Loaded>
    </>
  );
}

function PlanForm({ plans }: { plans: readonly PlanRowFragment[] }) {
  const toast = useToast();
  const [asked, setAsked] = useState<PlanRowFragment>();
  const set = useApiMutation(SetPlan, {
    refetches: [Plans, Accounts, OperatedAccount],
    onDone: ({ setPlan: { name } }) => toast({ text: t('The plan {name} is set.', { name }) }),
  });
  const submit = (values: FormData) => {
    const number = (name: string) => Number(textOf(values, name) || 0);
    const input = {
      name: textOf(values, 'name'),
      perMinute: number('perMinute'),
      perSecond: number('perSecond'),
      webhooksPerMinute: number('webhooksPerMinute'),
      sessionPerMinute: number('sessionPerMinute') || null,
    };
    if (plans.some(({ name }) => name === input.name)) setAsked(input);
    else set.mutate({ input });
  };
  return (
    <section className="card stack" aria-labelledby="set-plan">
      <h2 id="set-plan">{t('Set a plan')}</h2>
      <Form label={t('Set a plan')} error={set.error} onSubmit={submit}>
        <Field
          name="name"
          label={t('Name')}
          autoComplete="off"
          hint={t('A new name adds a plan. The name of an existing plan changes it for every account on it.')}
        />
        <Field name="perMinute" label={t('Requests a minute')} type="number" min={1} />
        <Field
          name="perSecond"
          label={t('Requests a second')}
          type="number"
          min={0}
          hint={t('Empty or 0: no such limit.')}
        />
        <Field name="webhooksPerMinute" label={t('Webhook registrations a minute')} type="number" min={1} />
        <Field
          name="sessionPerMinute"
          label={t('Requests of a session a minute')}
          type="number"
          min={1}
          hint={t('Of people who are signed in. Empty: the default of the platform.')}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={set.isPending}>
            {t('Set the plan')}
          </Button>
        </div>
      </Form>
      {asked && (
        <ConfirmDialog
          title={t('Change the plan {name}?', { name: asked.name })}
          consequence={t('This plan exists. The new limits apply to every account on it within a second.')}
          confirmLabel={t('Change plan')}
          // The form's fields show the error, so the dialog closes after a failure too.
          onConfirm={() => set.mutateAsync({ input: asked }).catch(() => undefined)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}
