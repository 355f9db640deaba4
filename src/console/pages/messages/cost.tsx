import { counted } from '../../lib/counts.ts';
import { formatMoney } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { T } from '../../ui/t.tsx';
import { Money } from '../../ui/values.tsx';
import type { Message } from './message-text.ts';

/** Shows the cost of a message and how it was calculated. */
export function Cost({ of: message }: { of: Message }) {
  const { cost, currency, recipients } = message;
  const isCanceled = recipients.every(({ error }) => error?.code === 'canceled');
  const refunded = recipients.reduce((sum, recipient) => sum + recipient.refunded, 0);
  return (
    <section className="card stack" aria-labelledby="message-cost">
      <div className="row spread">
        <h2 id="message-cost">{t('Cost')}</h2>
        <strong className="message-amount">
          <Money amount={cost} currency={currency} />
        </strong>
      </div>
      <p className="quiet">
        {message.environment === 'SANDBOX' ? t('Nothing is charged in the sandbox.') : explained(message)}
      </p>
      {refunded > 0 && (
        <p>
          <T
            text={
              isCanceled
                ? '{money} refunded: the message was canceled.'
                : '{money} refunded: {count, plural, one {# recipient was rejected.} other {# recipients were rejected.}}'
            }
            money={<Money amount={refunded} currency={currency} />}
            count={recipients.filter((recipient) => recipient.refunded > 0).length}
          />
        </p>
      )}
    </section>
  );
}

function explained({ channel, cost, currency, metadata, recipients }: Message): string {
  const count = recipients.length;
  const people = counted(count, channel === 'PUSH' ? 'device' : 'recipient');
  if (channel !== 'SMS') {
    if (count === 0) return `${people}.`;
    return t('{people}, {price} each.', { people, price: formatMoney(cost / count, currency) });
  }
  const units = metadata.smsCount ?? 0;
  const price = metadata.costPerSms ?? 0;
  const told = { people, units: counted(units, 'billingUnit'), price: formatMoney(price, currency) };
  const sum =
    price * units * count === cost
      ? `${told.people} × ${told.units} × ${told.price}.`
      : t('{people} × {units}, at prices that differ by destination.', told);
  const segments = counted(metadata.segments ?? 0, 'segment');
  return `${sum} ${t('A billing unit is 160 characters of text, whatever the encoding. Carriers take it in {segments}; that does not change the price.', { segments })}`;
}
