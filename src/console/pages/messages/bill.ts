import { fromMinor, toMinor } from '../../../domain/money/money.ts';
import { Tariff } from '../../../domain/money/tariff.ts';
import { counted } from '../../lib/counts.ts';
import { formatMoney } from '../../lib/format.ts';
import { request } from '../../lib/request.ts';
import { t } from '../../lib/words.ts';
import type { Message } from './message-text.ts';
import { type Channel, EstimateSms, Prices, type PricesQuery } from './send.generated.ts';

/** What a message costs, before it is sent. Amounts are in units of the currency. */
export interface Bill {
  readonly recipients: number;
  readonly cost: number;
  readonly currency: string;
  /** The balance before the message. */
  readonly balance: number;
}

export const recipientsText = ({ recipients }: Bill) => counted(recipients, 'recipient');

/** Says what a message costs: `107 recipients, UGX 6,420, leaves UGX 377,650`. */
export function billWords(bill: Bill): string {
  const { cost, balance, currency } = bill;
  const left = formatMoney(balance - cost, currency);
  return t('{recipients}, {cost}, leaves {left}.', {
    recipients: recipientsText(bill),
    cost: formatMoney(cost, currency),
    left,
  });
}

/** Asks the gateway what an SMS costs. Rejects with `ApiError`. */
export async function smsBill(
  to: string,
  message: string,
  purpose: Message['purpose'] | undefined,
): Promise<Bill> {
  const { estimateSms } = await request(EstimateSms, { input: { to, message, purpose } });
  const { recipientsProcessed: recipients, cost, currency, balance } = estimateSms;
  return { recipients, cost, currency, balance };
}

/** Asks for the prices, and calculates what a message costs whose price does not depend on its text. */
export async function channelBill(channel: Channel, recipients: number): Promise<Bill | undefined> {
  const data = await request(Prices, {});
  const { balance, currency } = data.account;
  const unitMinor = tariffOf(data).unitPrice(currency, channel, '');
  if (unitMinor === undefined) return undefined;
  return { recipients, cost: fromMinor(unitMinor * recipients, currency), currency, balance };
}

/** Asks for the balance and its currency. */
export async function balanceNow(): Promise<Pick<Bill, 'balance' | 'currency'>> {
  const { balance, currency } = (await request(Prices, {})).account;
  return { balance, currency };
}

/** Returns the price list as the domain calculates with it. */
export function tariffOf({ prices }: { readonly prices: NonNullable<PricesQuery['prices']> }): Tariff {
  return new Tariff(prices.map((row) => ({ ...row, amountMinor: toMinor(row.amount, row.currency) })));
}
