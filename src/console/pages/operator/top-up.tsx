import { useState } from 'react';
import { toMinor } from '../../../domain/money/money.ts';
import { ApiError } from '../../lib/api-error.ts';
import { formatMoney } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Actor, type ShownActor } from '../../ui/actor.tsx';
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

interface Booked {
  readonly id: string;
  readonly at: string;
  readonly actor: ShownActor;
  readonly after: Readonly<Record<string, unknown>> | null;
}
interface Payment {
  readonly amount: number;
  readonly reference: string;
}

const REFERENCE_NEEDED = t('is needed: with it the same payment is booked once, however often it is sent');

/**
 * Returns why an amount cannot be booked, or undefined. It runs before the confirmation, which would show the amount
 * rounded.
 */
function faultOfAmount(amount: number, currency: string): string | undefined {
  try {
    return toMinor(amount, currency) > 0 ? undefined : t('must be more than 0');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return error.message;
  }
}

/** Lists the payments of an account, and has a form to book another one. */
export function TopUp({ of }: { of: AccountRowFragment }) {
  const payments = useApiQuery(TopUps, { accountId: of.id });
  return (
    <section className="card stack" aria-labelledby="top-up">
      <h2 id="top-up">{t('Top up')}</h2>
      <Loaded query={payments}>
        {({ auditLog: { nodes } }) => (
          <>
            <TopUpForm of={of} booked={nodes} />
            {nodes.length === 0 ? (
              <p className="quiet">{t('No top-ups yet.')}</p>
            ) : (
              <Payments of={nodes} currency={of.currency} />
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

/**
 * Books a payment after a confirmation. The gateway books a reference only once, and the form says whether it booked
 * now or earlier.
 */
function TopUpForm({ of, booked }: { of: AccountRowFragment; booked: readonly Booked[] }) {
  const [asked, setAsked] = useState<Payment>();
  const [fault, setFault] = useState<ApiError>();
  const [idsBefore, setIdsBefore] = useState<ReadonlySet<string>>(new Set());
  const topUp = useApiMutation(TopUpAccount, { refetches: [OperatedAccount, Accounts, TopUps] });
  const done = topUp.data?.topUpAccount;
  const bookingsOf = (reference: string | undefined) =>
    booked.filter(({ after }) => after?.reference === reference);
  const isAdded = bookingsOf(topUp.variables?.reference).some(({ id }) => !idsBefore.has(id));

  const ask = (values: FormData) => {
    const payment = { amount: Number(textOf(values, 'amount')), reference: textOf(values, 'reference') };
    const amountFault = faultOfAmount(payment.amount, of.currency);
    const faults = [
      ...(amountFault === undefined ? [] : [{ path: 'amount', message: amountFault }]),
      ...(payment.reference === '' ? [{ path: 'reference', message: REFERENCE_NEEDED }] : []),
    ];
    topUp.reset();
    setFault(faults.length === 0 ? undefined : new ApiError('BAD_USER_INPUT', '', { fields: faults }));
    setIdsBefore(new Set(booked.map(({ id }) => id)));
    if (faults.length === 0) setAsked(payment);
  };

  return (
    <>
      {done && (
        <Notice tone={isAdded ? 'good' : 'warn'}>
          {isAdded ? t('Booked.') : t('This reference was booked before, so nothing was added.')}{' '}
          {t('The balance is {balance}.', { balance: formatMoney(done.balance, done.currency) })}
        </Notice>
      )}
      <Form label={t('Top up the account')} error={fault ?? topUp.error} onSubmit={ask}>
        <Field
          name="amount"
          label={t('Amount in {currency}', { currency: of.currency })}
          type="number"
          min={0}
          step="any"
          autoComplete="off"
        />
        <Field
          name="reference"
          label={t('Reference')}
          autoComplete="off"
          hint={t('Names the payment, such as its number at the bank. The same reference is booked once.')}
        />
        <div className="row">
          <Button type="submit" look="primary" isBusy={topUp.isPending}>
            {t('Top up')}
          </Button>
        </div>
      </Form>
      {asked && (
        <ConfirmDialog
          title={t('Add {amount} to {name}?', {
            amount: formatMoney(asked.amount, of.currency),
            name: of.name,
          })}
          consequence={
            <>
              {t('Reference “{reference}”. The balance is {balance} now.', {
                reference: asked.reference,
                balance: formatMoney(of.balance, of.currency),
              })}{' '}
              {bookingsOf(asked.reference).length > 0
                ? t('This reference was booked before: it will not be booked again.')
                : t('A top-up cannot be taken back.')}
            </>
          }
          confirmLabel={t('Book it')}
          // The form's fields show the error, so the dialog closes after a failure too.
          onConfirm={() => topUp.mutateAsync({ accountId: of.id, ...asked }).catch(() => undefined)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

function Payments({ of, currency }: { of: readonly Booked[]; currency: string }) {
  return (
    <DataTable
      caption={t('The latest top-ups')}
      rows={of}
      keyOf={({ id }) => id}
      columns={[
        {
          header: t('Amount'),
          cell: ({ after }) => <Money amount={Number(after?.amount)} currency={currency} />,
        },
        { header: t('Reference'), cell: ({ after }) => String(after?.reference ?? '–') },
        { header: t('By'), cell: ({ actor }) => <Actor of={actor} /> },
        { header: t('When'), cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}
