import { useState } from 'react';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, textOf } from '../../ui/form.tsx';
import { T } from '../../ui/t.tsx';
import { Money } from '../../ui/values.tsx';
import { PriceFor } from './operator.generated.ts';
import { whereOf } from './price-text.ts';

/** Shows which price holds for a number, and what one SMS to it costs. */
export function PriceTest({ currency }: { currency: string }) {
  const [to, setTo] = useState('');
  const query = useApiQuery(PriceFor, { currency, channel: 'SMS', to }, { isEnabled: to !== '' });
  const price = query.data?.priceFor;
  return (
    <section className="card stack" aria-labelledby="test-number">
      <h2 id="test-number">{t('Test a number')}</h2>
      <Form label={t('Test a number')} error={query.error} onSubmit={(values) => setTo(textOf(values, 'to'))}>
        <Field
          name="to"
          label={t('Number')}
          type="tel"
          autoComplete="off"
          hint={t('In any form that a send accepts.')}
        />
        <div className="row">
          <Button type="submit" isBusy={query.isFetching}>
            {t('Find its price')}
          </Button>
        </div>
      </Form>
      <p role="status">
        {query.isSuccess &&
          (price ? (
            <T
              text="One SMS to {to} costs {price}: the price for {where}."
              to={to}
              price={<Money amount={price.amount} currency={price.currency} />}
              where={whereOf(price.prefix)}
            />
          ) : (
            t('No price in {currency} holds for {to}: a send is refused.', { currency, to })
          ))}
      </p>
    </section>
  );
}
