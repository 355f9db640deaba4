/** Several changes of the prices of one currency, made at once (R513), and what they would have cost (R514). */
import { PREFIX_LENGTH } from '../messages/country.ts';
import type { Channel } from '../messages/message.ts';
import type { PlatformRow } from '../platform/platform-analytics.ts';
import type { PriceRow, Tariff } from './tariff.ts';

/** A change of one row, in minor units. A null `amountMinor` takes the row away. */
export interface PriceChange {
  readonly channel: Channel;
  readonly prefix: string;
  readonly amountMinor: number | null;
}

/** The traffic of one account to the numbers with one beginning. The cost is what was charged for it. */
export type PricedTraffic = Pick<PlatformRow, 'recipients' | 'costMinor'> & {
  readonly values: Pick<PlatformRow['values'], 'accountId' | 'accountName' | 'channel' | 'prefix'>;
};
/**
 * What the traffic of an account cost, and what it would have cost at the new prices. The two bounds differ if a price
 * is for a longer prefix than the figures have: then nobody knows how much of the traffic it concerns.
 */
export interface PreviewedCost {
  readonly costMinor: number;
  readonly leastMinor: number;
  readonly mostMinor: number;
  /** Recipients to which the account could no longer send, because no price would be left for them. */
  readonly refusedRecipients: number;
}
export interface PreviewedAccount extends PreviewedCost {
  readonly accountId: string;
  readonly name: string;
}

export const NO_COST: PreviewedCost = { costMinor: 0, leastMinor: 0, mostMinor: 0, refusedRecipients: 0 };

/** Returns the prices of the currency after the changes. Changed prices are confirmed. */
export function changedPrices(
  rows: readonly PriceRow[],
  currency: string,
  changes: readonly PriceChange[],
): readonly PriceRow[] {
  const keyOf = ({ channel, prefix }: Pick<PriceRow, 'channel' | 'prefix'>) => `${channel} ${prefix}`;
  const after = new Map(rows.map((row) => [keyOf(row), row]));
  for (const { channel, prefix, amountMinor } of changes) {
    const row = { currency, channel, prefix };
    if (amountMinor === null) after.delete(keyOf(row));
    else after.set(keyOf(row), { ...row, amountMinor, isConfirmed: true });
  }
  return [...after.values()];
}

/** Returns what the traffic would have cost each account, the greatest difference first. */
export function previewCosts(
  traffic: readonly PricedTraffic[],
  currency: string,
  before: Tariff,
  after: Tariff,
): readonly PreviewedAccount[] {
  const accounts = new Map<string, PreviewedAccount>();
  for (const row of traffic) {
    const { accountId, accountName } = row.values;
    if (accountId === null) continue;
    const sum = accounts.get(accountId) ?? { accountId, name: accountName ?? '', ...NO_COST };
    accounts.set(accountId, { ...sum, ...addCosts(sum, costOf(row, currency, before, after)) });
  }
  const differenceOf = ({ costMinor, leastMinor, mostMinor }: PreviewedCost) =>
    Math.max(Math.abs(mostMinor - costMinor), Math.abs(leastMinor - costMinor));
  return [...accounts.values()].sort(
    (left, right) => differenceOf(right) - differenceOf(left) || right.costMinor - left.costMinor,
  );
}

export function addCosts(left: PreviewedCost, right: PreviewedCost): PreviewedCost {
  return {
    costMinor: left.costMinor + right.costMinor,
    leastMinor: left.leastMinor + right.leastMinor,
    mostMinor: left.mostMinor + right.mostMinor,
    refusedRecipients: left.refusedRecipients + right.refusedRecipients,
  };
}

function costOf(
  { recipients, costMinor, values }: PricedTraffic,
  currency: string,
  before: Tariff,
  after: Tariff,
): PreviewedCost {
  const channel = values.channel ?? '';
  const start = values.prefix?.slice(1) ?? '';
  // The figures have the first digits of a number only. A row for more digits may concern all of the traffic or none.
  const isCut = start.length >= PREFIX_LENGTH - 1;
  const within = isCut
    ? [before, after].flatMap((tariff) => tariff.prefixesWithin(currency, channel, start))
    : [];
  const destinations = [start, ...within];
  const costs = destinations.map((destination) => {
    const old = before.unitPrice(currency, channel, destination);
    const now = after.unitPrice(currency, channel, destination);
    if (now === undefined) return 0;
    if (now === old) return costMinor;
    // What was free has no cost from which its units follow. Each recipient then counts as one unit.
    return old === undefined || old === 0 ? recipients * now : Math.round((costMinor / old) * now);
  });
  const isRefused = destinations.every(
    (destination) =>
      before.unitPrice(currency, channel, destination) !== undefined &&
      after.unitPrice(currency, channel, destination) === undefined,
  );
  return {
    costMinor,
    leastMinor: Math.min(...costs),
    mostMinor: Math.max(...costs),
    refusedRecipients: isRefused ? recipients : 0,
  };
}
