import { DomainError } from '../errors.ts';
import type { Draft, SendContext } from './accept-message.ts';
import type { Channel } from './message.ts';

/**
 * The price of one message of a channel to one recipient, in minor units of the account's currency (R17).
 * Throws `unpriced_destination` when there is none.
 */
export async function unitPriceOf(
  context: SendContext,
  accountId: string,
  channel: Channel,
  destination: string,
): Promise<Pick<Draft, 'currency' | 'unitPriceMinor'>> {
  const currency = await context.currencyOf(accountId);
  const unitPriceMinor = (await context.tariff()).unitPrice(currency, channel, destination);
  if (unitPriceMinor !== undefined) return { currency, unitPriceMinor };
  throw new DomainError(
    'unpriced_destination',
    `There is no ${currency} price for ${channel}. Ask the operator to set one.`,
    { destination, currency },
  );
}
