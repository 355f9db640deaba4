import { useState } from 'react';
import { ApiError } from '../../lib/api-error.ts';
import { formatMoney } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { useActors } from '../../ui/actor.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Money, Time } from '../../ui/values.tsx';
import {
  type AccountRowFragment,
  Accounts,
  OperatedAccount,
  TopUpAccount,
  TopUps,
} from './operator.generated.ts';

interface Payment {
  readonly amount: number;
  readonly reference: string;
}

const REFERENCE_NEEDED = 'is needed: with it the same payment is booked once, however often it is sent';

/** Books a payment on an account, after asking; the same reference books once. Below it the payments so far. */
export function TopUp({ of }: { of: AccountRowFragment }) {
  const [asked, setAsked] = useState<Payment>();
  const [fault, setFault] = useState<ApiError>();
  const payments = useApiQuery(TopUps, { accountId: of.id });
  const known = payments.data?.auditLog.nodes ?? [];
  const [wasKnown, setWasKnown] = useState(false);
  const topUp = useApiMutation(TopUpAccount, { refetches: [OperatedAccount, Accounts, TopUps] });
  const done = topUp.data?.topUpAccount;

  const ask = (values: FormData) => {
    const payment = { amount: Number(textOf(values, 'amount')), reference: textOf(values, 'reference') };
    const faults = [
      ...(payment.amount > 0 ? [] : [{ path: 'amount', message: 'must be more than 0' }]),
      ...(payment.reference === '' ? [{ path: 'reference', message: REFERENCE_NEEDED }] : []),
    ];
    topUp.reset();
    setFault(faults.length === 0 ? undefined : new ApiError('BAD_USER_INPUT', '', { fields: faults }));
    setWasKnown(known.some(({ after }) => after?.reference === payment.reference));
    if (faults.length === 0) setAsked(payment);
  };

  return (
    <section className="card stack" aria-labelledby="top-up">
      <h2 id="top-up">Top up</h2>
      {done && (
        <Notice tone={wasKnown ? 'warn' : 'good'}>
          {wasKnown ? 'This reference was booked before, so nothing was added.' : 'Booked.'} The balance is{' '}
          {formatMoney(done.balance, done.currency)}.
        </Notice>
      )}
      <Form label="Top up the account" error={fault ?? topUp.error} onSubmit={ask}>
        <Field
          name="amount"
          label={`Amount in ${of.currency}`}
          type="number"
          min={0}
          step="any"
          autoComplete="off"
        />
        <Field
          name="reference"
          label="Reference"
          autoComplete="off"
          hint="Names the payment, such as its number at the bank. The same reference is booked once."
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={topUp.isPending}>
            Top up
          </Button>
        </div>
      </Form>
      <Loaded query={payments}>
        {({ auditLog }) =>
          auditLog.nodes.length === 0 ? (
            <p className="quiet">No top-ups yet.</p>
          ) : (
            <Payments of={auditLog.nodes} currency={of.currency} />
          )
        }
      </Loaded>
      {asked && (
        <ConfirmDialog
          title={`Add ${formatMoney(asked.amount, of.currency)} to ${of.name}?`}
          consequence={
            <>
              Reference “{asked.reference}”. The balance is {formatMoney(of.balance, of.currency)} now.
              {wasKnown && ' This reference was booked before: it will not be booked again.'} A top-up cannot
              be taken back.
            </>
          }
          confirmLabel="Book it"
          // What is wrong is said at the fields.
          onConfirm={() => topUp.mutateAsync({ accountId: of.id, ...asked }).catch(() => undefined)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}

interface Booked {
  readonly id: string;
  readonly at: string;
  readonly actor: string;
  readonly after: Readonly<Record<string, unknown>> | null;
}

function Payments({ of, currency }: { of: readonly Booked[]; currency: string }) {
  const showActor = useActors();
  return (
    <DataTable
      caption="The latest top-ups"
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          header: 'Amount',
          cell: ({ after }) => <Money amount={Number(after?.amount)} currency={currency} />,
        },
        { header: 'Reference', cell: ({ after }) => String(after?.reference ?? '–') },
        { header: 'By', cell: ({ actor }) => showActor(actor) },
        { header: 'When', cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}
