import { useState } from 'react';
import { useApiQuery } from '../../lib/queries.ts';
import { useIsOperator, usePermission, useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { PageHeader } from '../../ui/layout.tsx';
import { EmptyState, Loaded } from '../../ui/states.tsx';
import { Money } from '../../ui/values.tsx';
import { CHANNEL_NAMES } from '../messages/message-text.ts';
import { OperatorPrices, type PriceFactsFragment, Prices } from './operator.generated.ts';
import { PriceEditor } from './price-editor.tsx';
import { PriceHistory } from './price-history.tsx';
import { PriceTest } from './price-test.tsx';
import { whereOf } from './price-text.ts';

const keyOf = ({ currency, channel, prefix }: PriceFactsFragment) => `${currency} ${channel} ${prefix}`;

const COLUMNS: readonly Column<PriceFactsFragment>[] = [
  { header: t('Currency'), cell: ({ currency }) => currency },
  { header: t('Channel'), cell: ({ channel }) => CHANNEL_NAMES[channel] },
  {
    header: t('To'),
    cell: ({ prefix, isConfirmed }) =>
      isConfirmed ? whereOf(prefix) : t('{where} (not confirmed)', { where: whereOf(prefix) }),
  },
  {
    header: t('Price of one unit'),
    cell: ({ amount, currency }) => <Money amount={amount} currency={currency} />,
    isNumber: true,
  },
];

/** The list of message prices. Operators change them in the table, and see the history. */
export default function PricesPage() {
  const isOperator = useIsOperator();
  return (
    <>
      <PageHeader title={t('Prices')} />
      <p className="quiet">
        {t(
          'A unit is one SMS of up to 160 characters, one email, one notification or one WhatsApp message, for one recipient. The longest prefix of the destination wins.',
        )}
      </p>
      {isOperator ? <OperatorView /> : <AccountView />}
    </>
  );
}

function AccountView() {
  const query = useApiQuery(Prices, {});
  const currency = useViewer().account?.currency ?? '';
  return (
    <Loaded query={query}>
      {({ prices }) => (
        <div className="columns">
          <PriceTable of={prices.filter((price) => price.currency === currency)} />
          <PriceTest currency={currency} />
        </div>
      )}
    </Loaded>
  );
}

function OperatorView() {
  const query = useApiQuery(OperatorPrices, {});
  const mayChange = usePermission('price.change');
  const [chosen, setChosen] = useState<string>();
  return (
    <Loaded query={query}>
      {({ prices, auditLog }) => {
        const known = [...new Set(prices.map(({ currency }) => currency))].sort();
        const currency = chosen ?? known[0] ?? 'UGX';
        const shown = known.includes(currency) ? known : [...known, currency];
        const own = prices.filter((price) => price.currency === currency);
        return (
          <div className="stack">
            <div className="row spread">
              <Choice
                label={t('Currency')}
                options={shown.map((value) => ({ value, label: value }))}
                chosen={{ value: currency, label: currency }}
                onChoose={setChosen}
              />
              <Form
                label={t('Other currency')}
                className="filters"
                onSubmit={(values) => setChosen(textOf(values, 'currency').toUpperCase() || undefined)}
              >
                <Field name="currency" label={t('Other currency')} maxLength={3} autoComplete="off" />
                <Button type="submit">{t('Show')}</Button>
              </Form>
            </div>
            <div className="columns">
              {mayChange ? (
                <PriceEditor key={currency} currency={currency} prices={own} />
              ) : (
                <PriceTable of={own} />
              )}
              <PriceTest currency={currency} />
            </div>
            <PriceHistory entries={auditLog.nodes} currency={currency} />
          </div>
        );
      }}
    </Loaded>
  );
}

function PriceTable({ of }: { of: readonly PriceFactsFragment[] }) {
  if (of.length === 0) {
    return (
      <EmptyState title={t('No prices yet')}>
        <p>{t('Messages cannot be sent before the platform operator has set what they cost.')}</p>
      </EmptyState>
    );
  }
  return <DataTable caption={t('What is in force')} columns={COLUMNS} rows={of} keyOf={keyOf} />;
}
