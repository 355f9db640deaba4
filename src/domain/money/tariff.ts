import type { Channel } from '../messages/message.ts';

/** The price of one billing unit for one recipient whose number starts with `prefix` (R17). */
interface TariffRow {
  readonly currency: string;
  readonly channel: string;
  /** Leading digits of the E.164 number, without `+`. Empty means all destinations. */
  readonly prefix: string;
  /** Price in whole minor units of `currency`, not negative. */
  readonly amountMinor: number;
}
/** A row of the price table. */
export interface PriceRow extends TariffRow {
  readonly channel: Channel;
  /** False for a price that came with the gateway and that no operator has set (R375). */
  readonly isConfirmed: boolean;
}

/** The only prefix for which a price that came with the gateway is used in production. */
const SHIPPED_PREFIX = '256';

/** Returns the prices for production. A price that came with the gateway is used for `SHIPPED_PREFIX` only (R375). */
export function confirmedPrices(rows: readonly PriceRow[]): readonly TariffRow[] {
  const confirmed = rows.filter(({ isConfirmed }) => isConfirmed);
  const shipped = rows
    .filter(({ isConfirmed }) => !isConfirmed)
    .map((row) => ({ ...row, prefix: SHIPPED_PREFIX }))
    .filter(
      ({ currency, channel, prefix }) =>
        !confirmed.some(
          (row) => row.currency === currency && row.channel === channel && row.prefix === prefix,
        ),
    );
  return [...confirmed, ...shipped];
}

interface PriceList {
  readonly amountByPrefix: Map<string, number>;
  longestPrefix: number;
}

const E164_PREFIX = /^\d{0,15}$/;

/**
 * The prices in force. If several rows match a destination, the one with the longest prefix applies (R17). A look-up
 * reads a map at most once for each digit of the longest prefix, and once for the empty prefix.
 */
export class Tariff {
  readonly #lists = new Map<string, PriceList>();

  /** Throws RangeError for a prefix that is not digits, a price that is not a whole number, and a repeated row. */
  constructor(rows: Iterable<TariffRow>) {
    for (const { currency, channel, prefix, amountMinor } of rows) {
      const name = `${currency} ${channel} "${prefix}"`;
      if (!E164_PREFIX.test(prefix)) throw new RangeError(`Tariff ${name}: the prefix is not digits`);
      if (!Number.isSafeInteger(amountMinor) || amountMinor < 0) {
        throw new RangeError(`Tariff ${name}: the price is not a whole amount of minor units`);
      }
      const key = listKey(currency, channel);
      const list = this.#lists.get(key) ?? { amountByPrefix: new Map(), longestPrefix: 0 };
      if (list.amountByPrefix.has(prefix)) throw new RangeError(`Tariff ${name}: given twice`);
      list.amountByPrefix.set(prefix, amountMinor);
      list.longestPrefix = Math.max(list.longestPrefix, prefix.length);
      this.#lists.set(key, list);
    }
  }

  /**
   * Returns the price of one unit to one recipient in minor units, or undefined when no row matches
   * (`unpriced_destination`, R3). `destination` is E.164, with or without `+`. For a channel without phone numbers,
   * only the row with an empty prefix matches.
   */
  unitPrice(currency: string, channel: string, destination: string): number | undefined {
    const list = this.#lists.get(listKey(currency, channel));
    const prefix = list && prefixIn(list, destination);
    return prefix === undefined ? undefined : list?.amountByPrefix.get(prefix);
  }

  /** Returns the prefix of the row whose price `unitPrice` returns. */
  prefixFor(currency: string, channel: string, destination: string): string | undefined {
    const list = this.#lists.get(listKey(currency, channel));
    return list && prefixIn(list, destination);
  }

  /** Returns the prefixes of the rows that begin with `prefix` and are longer. */
  prefixesWithin(currency: string, channel: string, prefix: string): readonly string[] {
    const list = this.#lists.get(listKey(currency, channel));
    return [...(list?.amountByPrefix.keys() ?? [])].filter(
      (each) => each.length > prefix.length && each.startsWith(prefix),
    );
  }
}

/** Returns the longest prefix of the list with which a number begins. */
function prefixIn(list: PriceList, destination: string): string | undefined {
  const digits = destination.startsWith('+') ? destination.slice(1) : destination;
  for (let length = Math.min(digits.length, list.longestPrefix); length >= 0; length--) {
    const prefix = digits.slice(0, length);
    if (list.amountByPrefix.has(prefix)) return prefix;
  }
  return undefined;
}

function listKey(currency: string, channel: string): string {
  return `${currency}\n${channel}`;
}
