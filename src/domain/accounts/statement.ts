/**
 * A **statement** lists what moved an account's balance in a calendar month (UTC). Invariant (R460): the opening
 * balance plus the sums is the closing balance. The balances and credits are from the ledger, the charges from the kept
 * counts of messages. So the sum compares two sources.
 */
import { validationError } from '../errors.ts';
import type { Channel } from '../messages/message.ts';
import type { Account } from './account.ts';

/** What the messages of one channel cost when they were accepted. */
export interface StatementCharge {
  readonly channel: Channel;
  readonly messages: number;
  readonly amountMinor: number;
}

/** The sums of a month. Amounts are positive, in minor units. */
export interface StatementSums {
  readonly openingMinor: number;
  /** Top-ups, and the balance with which the account began. */
  readonly topUpMinor: number;
  readonly topUps: number;
  readonly refundMinor: number;
  readonly refunds: number;
  readonly charges: readonly StatementCharge[];
  readonly closingMinor: number;
}

/** A month in UTC. `to` is not included. */
export interface Month {
  readonly name: string;
  readonly from: Date;
  readonly to: Date;
}

export interface Statement extends StatementSums {
  readonly account: Account;
  readonly month: Month;
  /** True if the month is over, so that the statement does not change any more. */
  readonly isFinal: boolean;
  /** The closing balance minus the balance that the sums give. 0, unless the ledger and the counts disagree. */
  readonly differenceMinor: number;
}

const MONTH = /^(2\d{3})-(0[1-9]|1[0-2])$/;

/** Parses a month such as `2026-11`. Throws `validation_error` for another form and for a month that has not begun. */
export function parseMonth(text: string, now: Date): Month {
  const [, year, month] = MONTH.exec(text) ?? [];
  const from = new Date(Date.UTC(Number(year), Number(month) - 1));
  if (year === undefined || from > now) {
    const latest = now.toISOString().slice(0, 7);
    const message = `must be a month such as ${latest}, in UTC, that has begun`;
    throw validationError([{ path: 'month', message }]);
  }
  return { name: text, from, to: new Date(Date.UTC(Number(year), Number(month))) };
}

/** Returns the closing balance minus the balance that the other sums give. */
export function differenceOf(sums: StatementSums): number {
  const charged = sums.charges.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  return sums.closingMinor - (sums.openingMinor + sums.topUpMinor + sums.refundMinor - charged);
}
