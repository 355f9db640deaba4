import { formatMoney } from '../../lib/format.ts';
import { Money } from '../../ui/values.tsx';
import { counted, type Message } from './message-text.ts';

/** Shows the cost of a message and how it was calculated. */
export function Cost({ of: message }: { of: Message }) {
  const { cost, currency, recipients } = message;
  const isCanceled = recipients.every(({ error }) => error?.code === 'canceled');
  const refunded = recipients.reduce((sum, recipient) => sum + recipient.refunded, 0);
  return (
    <section className="card stack" aria-labelledby="message-cost">
      <div className="row spread">
        <h2 id="message-cost">Cost</h2>
        <strong className="message-amount">
          <Money amount={cost} currency={currency} />
        </strong>
      </div>
      <p className="quiet">
        {message.environment === 'SANDBOX' ? 'Nothing is charged in the sandbox.' : explained(message)}
      </p>
      {refunded > 0 && (
        <p>
          <Money amount={refunded} currency={currency} /> refunded:{' '}
          {isCanceled ? 'the message was canceled.' : `${refundedWords(recipients)}.`}
        </p>
      )}
    </section>
  );
}

/** Explains a refund: the number of recipients that were refunded because they were rejected. */
function refundedWords(recipients: Message['recipients']): string {
  const count = recipients.filter(({ refunded }) => refunded > 0).length;
  return `${counted(count, 'recipient was', 'recipients were')} rejected`;
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
