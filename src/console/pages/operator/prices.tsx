import { useState } from 'react';
import { ApiError } from '../../lib/api-error.ts';
import { formatMoney } from '../../lib/format.ts';
import { useApiMutation, useApiQuery } from '../../lib/queries.ts';
import { Can, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { useToast } from '../../ui/toast.tsx';
import { Money } from '../../ui/values.tsx';
import { CHANNEL_NAMES, optionsOf } from '../messages/message-text.ts';
import { type Channel, Prices, type PricesQuery, SetPrice } from './operator.generated.ts';

type Price = NonNullable<PricesQuery['prices']>[number];
type AskedPrice = Omit<Price, 'isConfirmed'>;

const keyOf = ({ currency, channel, prefix }: AskedPrice) => `${currency} ${channel} ${prefix}`;
const whereOf = (prefix: string) => (prefix === '' ? t('every destination') : `+${prefix}…`);

const COLUMNS: readonly Column<Price>[] = [
  { header: t('Currency'), cell: ({ currency }) => currency },
  { header: t('Channel'), cell: ({ channel }) => CHANNEL_NAMES[channel] },
  {
    header: t('To'),
    cell: ({ prefix, isConfirmed }) =>
      isConfirmed ? whereOf(prefix) : t('{destination} (not confirmed)', { destination: whereOf(prefix) }),
  },
  {
    header: t('Price of one unit'),
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
    isNumber: true,
  },
];

/** The list of message prices. Operators can change them. */
export default function PricesPage() {
  const query = useApiQuery(Prices, {});
  const currency = useViewer().account?.currency;
  return (
    <>
      <PageHeader title={t('Prices')} />
      <p className="quiet">
        {t(
          'A unit is one SMS of up to 160 characters, one email, one notification or one WhatsApp message, for one recipient. The longest prefix of the destination wins.',
        )}
      </p>
      <Loaded query={query}>
        {({ prices }) => (
          <div className="columns">
            <PriceTable of={currency ? prices.filter((price) => price.currency === currency) : prices} />
            <Can run="price.set">
              <PriceForm prices={prices} />
            </Can>
          </div>
        )}
      </Loaded>
    </>
  );
}

function PriceTable({ of }: { of: readonly Price[] }) {
  if (of.length === 0) {
    return (
      <EmptyState title={t('No prices yet')}>
        <p>{t('Messages cannot be sent before the platform operator has set what they cost.')}</p>
      </EmptyState>
    );
  }
  return <DataTable caption={t('What is in force')} columns={COLUMNS} rows={of} keyOf={keyOf} />;
}

function PriceForm({ prices }: { prices: readonly Price[] }) {
  const toast = useToast();
  const [asked, setAsked] = useState<AskedPrice>();
  const [fault, setFault] = useState<ApiError>();
  const set = useApiMutation(SetPrice, {
    refetches: [Prices],
    onDone: ({ setPrice: { amount, currency } }) =>
      toast({ text: t('The price is {amount} from now on.', { amount: formatMoney(amount, currency) }) }),
  });
  const before = asked && prices.find((price) => keyOf(price) === keyOf(asked));
  const submit = (values: FormData) => {
    // The confirmation shows the currency and the amount, so they are checked before it opens.
    const missing = ['currency', 'amount'].filter((name) => textOf(values, name) === '');
    const fields = missing.map((path) => ({ path, message: t('is needed') }));
    set.reset();
    setFault(missing.length === 0 ? undefined : new ApiError('BAD_USER_INPUT', '', { fields }));
    if (missing.length > 0) return;
    setAsked({
      currency: textOf(values, 'currency').toUpperCase(),
      channel: textOf(values, 'channel') as Channel,
      prefix: textOf(values, 'prefix').replace(/^\+/, ''),
      amount: Number(textOf(values, 'amount')),
    });
  };
  return (
    <section className="card stack" aria-labelledby="set-price">
      <h2 id="set-price">{t('Set a price')}</h2>
      <Form label={t('Set a price')} error={fault ?? set.error} onSubmit={submit}>
        <Field
          name="currency"
          label={t('Currency')}
          maxLength={3}
          autoComplete="off"
          hint={t('Three letters: UGX.')}
        />
        <Select name="channel" label={t('Channel')} options={optionsOf(CHANNEL_NAMES)} />
        <Field
          name="prefix"
          label={t('Prefix')}
          inputMode="numeric"
          autoComplete="off"
          hint={t('The leading digits of the number, such as 2567. Empty: every destination.')}
        />
        <Field name="amount" label={t('Price of one unit')} type="number" min={0} step="any" />
        <div className="row">
          <Button type="submit" look="primary" isBusy={set.isPending}>
            {t('Set the price')}
          </Button>
        </div>
      </Form>
      {asked && (
        <ConfirmDialog
          title={t('Set this price?')}
          consequence={t(
            '{channel} to {destination} costs {amount} {currency} for every account in that currency from now on; {before}.',
            {
              channel: CHANNEL_NAMES[asked.channel],
              destination: whereOf(asked.prefix),
              amount: asked.amount,
              currency: asked.currency,
              before: before
                ? t('it is {amount} {currency} now', { amount: before.amount, currency: before.currency })
                : t('there is no such price yet'),
            },
          )}
          confirmLabel={t('Set it')}
          // The form's fields show the error, so the dialog closes after a failure too.
          onConfirm={() => set.mutateAsync({ input: asked }).catch(() => undefined)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </section>
  );
}
