/** Accounts that an operator should look at (R511). */

const DAY_MS = 24 * 3_600_000;
const WEEK_DAYS = 7;
const MONTH_DAYS = 30;
/** A balance that lasts fewer days than this is low. */
const LOW_DAYS = 3;
/** A day with fewer finished messages says nothing about its delivery rate. */
const FINISHED_MIN = 20;
/** The delivery rate of the day is low if it is this much below the rate of the month, from 0 to 1. */
const RATE_DROP = 0.2;

export const ACCOUNT_TROUBLES = [
  'no_prices',
  'empty_balance',
  'low_balance',
  'low_delivery_rate',
  'failing_webhooks',
] as const;
export type AccountTrouble = (typeof ACCOUNT_TROUBLES)[number];

/** The spans over which the facts of accounts are counted: whole days in UTC. */
export interface TroubleSpans {
  /** Start of the month before today. */
  readonly monthFrom: Date;
  /** Start of the last seven days before today. */
  readonly weekFrom: Date;
  /** Start of today. */
  readonly today: Date;
}

/** What is known of an account. Counts are of production messages, by their present status. */
export interface AccountFacts {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly currency: string;
  readonly balanceMinor: number;
  /** Messages of the month and of today. */
  readonly messages: number;
  /** Cost at acceptance of the last seven days and of today. */
  readonly costMinor: number;
  readonly deliveredToday: number;
  readonly failedToday: number;
  /** Of the month before today. */
  readonly deliveredBefore: number;
  readonly failedBefore: number;
  /** Production webhooks that fail, or that failures switched off. */
  readonly failingWebhooks: number;
}
export interface TroubledAccount extends AccountFacts {
  /** At least one, the worst first. */
  readonly troubles: readonly AccountTrouble[];
  /** Days that the balance lasts at the cost of the last seven days. Null if nothing was charged in them. */
  readonly daysLeft: number | null;
  /** Delivered part of the messages that are finished, from 0 to 1. Null if none is finished. */
  readonly deliveryRateToday: number | null;
  readonly deliveryRateBefore: number | null;
}

/** Returns the spans that end at `now`. */
export function troubleSpans(now: Date): TroubleSpans {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const before = (days: number) => new Date(today - days * DAY_MS);
  return { monthFrom: before(MONTH_DAYS), weekFrom: before(WEEK_DAYS), today: before(0) };
}

/**
 * Returns the accounts with troubles, the worst first. `priced` are the currencies that have a price. `facts` are of
 * the spans of `now`.
 */
export function troubledAccounts(
  facts: readonly AccountFacts[],
  priced: ReadonlySet<string>,
  now: Date,
): readonly TroubledAccount[] {
  const days = WEEK_DAYS + (now.getTime() % DAY_MS) / DAY_MS;
  return facts
    .map((account) => withTroubles(account, priced, days))
    .filter(({ troubles }) => troubles.length > 0)
    .sort((left, right) => weightOf(right) - weightOf(left) || right.messages - left.messages);
}

function withTroubles(facts: AccountFacts, priced: ReadonlySet<string>, days: number): TroubledAccount {
  const { balanceMinor, costMinor } = facts;
  const daysLeft = costMinor > 0 ? (balanceMinor * days) / costMinor : null;
  const deliveryRateToday = rateOf(facts.deliveredToday, facts.failedToday);
  const deliveryRateBefore = rateOf(facts.deliveredBefore, facts.failedBefore);
  const holds: Readonly<Record<AccountTrouble, boolean>> = {
    no_prices: !priced.has(facts.currency),
    empty_balance: balanceMinor === 0,
    low_balance: balanceMinor > 0 && daysLeft !== null && daysLeft < LOW_DAYS,
    low_delivery_rate:
      facts.deliveredToday + facts.failedToday >= FINISHED_MIN &&
      deliveryRateToday !== null &&
      deliveryRateBefore !== null &&
      deliveryRateToday < deliveryRateBefore - RATE_DROP,
    failing_webhooks: facts.failingWebhooks > 0,
  };
  const troubles = ACCOUNT_TROUBLES.filter((trouble) => holds[trouble]);
  return { ...facts, troubles, daysLeft, deliveryRateToday, deliveryRateBefore };
}

function rateOf(delivered: number, failed: number): number | null {
  return delivered + failed === 0 ? null : delivered / (delivered + failed);
}

/**
 * Orders accounts. An account that sends counts before one that does not: an empty balance alone may be of an account
 * that nobody uses.
 */
function weightOf({ troubles, messages }: TroubledAccount): number {
  return (messages > 0 ? ACCOUNT_TROUBLES.length : 0) + troubles.length;
}
