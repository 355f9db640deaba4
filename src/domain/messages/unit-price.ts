import { DomainError } from '../errors.ts';
import type { SendContext } from './accept-message.ts';
import type { Channel } from './message.ts';

/**
 * The price in minor units of one message of a channel to one recipient (decision 17). Throws
 * `unpriced_destination` when there is none.
 */
export async function unitPriceOf(
  context: SendContext,
  accountId: string,
  channel: Channel,
  destination: string,
): Promise<number> {
  const currency = await context.currencyOf(accountId);
  const price = (await context.tariff()).unitPrice(currency, channel, destination);
  if (price !== undefined) return price;
  throw new DomainError(
    'unpriced_destination',
    `There is no ${currency} price for ${channel}. Ask the operator to set one.`,
    { destination, currency },
  );
}
