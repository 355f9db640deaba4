import { type ReactNode, useMemo } from 'react';
import { fromMinor } from '../../../domain/money/money.ts';
import { counted } from '../../lib/counts.ts';
import { formatAbsolute } from '../../lib/format.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { KeyValues, Money } from '../../ui/values.tsx';
import { tariffOf } from './bill.ts';
import { type Channel, type Environment, Prices } from './send.generated.ts';

/** Shows the price of a message, the balance after it, and whether the balance is enough. */
export function PriceCard({
  environment,
  cost,
  currency,
  balance,
  how,
  heldUntil = null,
  isOld = false,
}: {
  environment: Environment;
  cost: number;
  currency: string;
  balance: number;
  /** A text that explains how the price is calculated. */
  how: string;
  /** Until when quiet hours would hold the message. */
  heldUntil?: string | null;
  /** True if the form has changed since, and the new price has not arrived yet. */
  isOld?: boolean;
}) {
  if (environment === 'SANDBOX')
    return <PriceFrame>{t('Nothing is sent or charged in the sandbox.')}</PriceFrame>;
  return (
    <PriceFrame isBusy={isOld}>
      <KeyValues
        items={[
          [
            t('Price'),
            <span key="price">
              <strong>
                <Money amount={cost} currency={currency} />
              </strong>{' '}
              <span className="quiet">{how}</span>
            </span>,
          ],
          [t('Balance now'), <Money key="now" amount={balance} currency={currency} />],
          ...(cost <= balance
            ? [
                [
                  t('Balance after'),
                  <Money key="after" amount={balance - cost} currency={currency} />,
                ] as const,
              ]
            : []),
          ...(heldUntil === null
            ? []
            : [
                [
                  t('Held until'),
                  t('{time} (quiet hours)', { time: formatAbsolute(new Date(heldUntil)) }),
                ] as const,
              ]),
        ]}
      />
      {cost > balance && (
        <Notice tone="warn">
          <T
            text="The balance does not cover it: {money} are missing. It would be refused."
            money={<Money amount={cost - balance} currency={currency} />}
          />
        </Notice>
      )}
    </PriceFrame>
  );
}

/** The frame around the price, the same in every form. */
export function PriceFrame({ children, isBusy = false }: { children: ReactNode; isBusy?: boolean }) {
  return (
    <section className="message-price stack" aria-label={t('Price')} aria-live="polite" aria-busy={isBusy}>
      {children}
    </section>
  );
}

/**
 * Shows the price of a message whose text does not affect the price. It is calculated in the browser from the price
 * list.
 */
export function ChannelPrice({
  channel,
  environment,
  destination = '',
  count,
  noun,
}: {
  channel: Channel;
  environment: Environment;
  /** The recipient's phone number, on a channel whose price depends on the destination. */
  destination?: string;
  /** Number of recipients. Undefined if only the gateway knows it, for example the devices of a user. */
  count: number | undefined;
  noun: 'recipient' | 'device';
}) {
  const { data } = useApiQuery(Prices, {});
  const tariff = useMemo(() => data && tariffOf(data), [data]);
  if (!data || !tariff) return null;
  const { balance, currency } = data.account;
  const unitMinor = tariff.unitPrice(currency, channel, destination);
  if (unitMinor === undefined) {
    return (
      <PriceFrame>
        <T text="There is no {currency} price for this. An operator sets prices." currency={currency} />
      </PriceFrame>
    );
  }
  const unit = <Money amount={fromMinor(unitMinor, currency)} currency={currency} />;
  if (!count && environment === 'PRODUCTION') {
    return (
      <PriceFrame>
        <p>
          <T
            text={
              noun === 'device'
                ? '{unit} for each device. The balance is {money}.'
                : '{unit} for each recipient. The balance is {money}.'
            }
            unit={unit}
            money={<Money amount={balance} currency={currency} />}
          />
        </p>
      </PriceFrame>
    );
  }
  return (
    <PriceCard
      environment={environment}
      cost={fromMinor(unitMinor * (count ?? 0), currency)}
      currency={currency}
      balance={balance}
      how={t('for {recipients}', { recipients: counted(count ?? 0, noun) })}
    />
  );
}
