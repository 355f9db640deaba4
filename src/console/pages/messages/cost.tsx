import { formatMoney } from '../../lib/format.ts';
import { Money } from '../../ui/values.tsx';
import { counted, type Message } from './message-text.ts';

/** What a message cost, and how that comes about. */
export function Cost({ of: message }: { of: Message }) {
  const isCanceled = message.recipients.every(({ error }) => error?.code === 'canceled');
  return (
    <section className="card stack" aria-labelledby="message-cost">
      <div className="row spread">
        <h2 id="message-cost">Cost</h2>
        <strong className="message-amount">
          <Money amount={message.cost} currency={message.currency} />
        </strong>
      </div>
      <p className="quiet">
        {message.environment === 'SANDBOX' ? 'Nothing is charged in the sandbox.' : explained(message)}
      </p>
      {isCanceled && <p>It was canceled and its cost given back; the ledger shows both.</p>}
    </section>
  );
}

function explained({ channel, cost, currency, metadata, recipients }: Message): string {
  const count = recipients.length;
  const people = counted(count, channel === 'PUSH' ? 'device' : 'recipient');
  if (channel !== 'SMS') {
    return `${people}${count > 0 ? `, ${formatMoney(cost / count, currency)} each` : ''}.`;
  }
  const units = metadata.smsCount ?? 0;
  const price = metadata.costPerSms ?? 0;
  const sum =
    price * units * count === cost
      ? `${people} × ${counted(units, 'billing unit')} × ${formatMoney(price, currency)}.`
      : `${people} × ${counted(units, 'billing unit')}, at prices that differ by destination.`;
  return (
    `${sum} A billing unit is 160 characters of text, whatever the encoding. Carriers take it in ` +
    `${counted(metadata.segments ?? 0, 'segment')}; that does not change the price.`
  );
}
