import { describe, expect, it } from '@jest/globals';
import {
  type AccountFacts,
  troubledAccounts,
  troubleSpans,
} from '../../src/domain/platform/account-troubles.ts';

const NOON = new Date('2026-06-15T12:00:00Z');
const HEALTHY: AccountFacts = {
  id: 'a',
  name: 'Shop',
  email: 'shop@test.example',
  currency: 'UGX',
  balanceMinor: 1_000,
  messages: 100,
  costMinor: 750,
  deliveredToday: 19,
  failedToday: 1,
  deliveredBefore: 95,
  failedBefore: 5,
  failingWebhooks: 0,
};
const found = (...changes: Partial<AccountFacts>[]) =>
  troubledAccounts(
    changes.map((change) => ({ ...HEALTHY, ...change })),
    new Set(['UGX']),
    NOON,
  );
const troublesOf = (change: Partial<AccountFacts>) => found(change)[0]?.troubles ?? [];

describe('troubles of accounts (R511)', () => {
  it('are counted over whole days in UTC', () => {
    expect(troubleSpans(NOON)).toEqual({
      monthFrom: new Date('2026-05-16T00:00:00Z'),
      weekFrom: new Date('2026-06-08T00:00:00Z'),
      today: new Date('2026-06-15T00:00:00Z'),
    });
  });

  it('are none for an account that sends and is paid for', () => {
    expect(found({})).toEqual([]);
  });

  it('are a balance of 0, and one that lasts less than three days at the cost of 7.5 days', () => {
    expect(troublesOf({ balanceMinor: 0 })).toEqual(['empty_balance']);
    expect(troublesOf({ balanceMinor: 300 })).toEqual([]);
    expect(troublesOf({ balanceMinor: 299 })).toEqual(['low_balance']);
    expect(troublesOf({ balanceMinor: 1, costMinor: 0 })).toEqual([]);
    expect(found({ balanceMinor: 200 })[0]?.daysLeft).toBe(2);
  });

  it('are a rate of today that is more than 20 points below the month, of at least 20 messages', () => {
    expect(troublesOf({ deliveredToday: 14, failedToday: 6 })).toEqual(['low_delivery_rate']);
    expect(troublesOf({ deliveredToday: 16, failedToday: 4 })).toEqual([]);
    expect(troublesOf({ deliveredToday: 0, failedToday: 19 })).toEqual([]);
    expect(troublesOf({ deliveredToday: 0, failedToday: 20, deliveredBefore: 0, failedBefore: 0 })).toEqual(
      [],
    );
  });

  it('are a currency without prices and a failing webhook', () => {
    expect(troublesOf({ currency: 'KES', failingWebhooks: 2 })).toEqual(['no_prices', 'failing_webhooks']);
  });

  it('put accounts that send before unused ones, and more troubles before fewer', () => {
    const accounts = found(
      { id: 'unused', balanceMinor: 0, messages: 0, costMinor: 0, failingWebhooks: 1 },
      { id: 'busy', balanceMinor: 0, messages: 9 },
      { id: 'busier', balanceMinor: 0, messages: 90 },
      { id: 'worst', balanceMinor: 0, failingWebhooks: 1, messages: 1 },
    );
    expect(accounts.map(({ id }) => id)).toEqual(['worst', 'busier', 'busy', 'unused']);
  });
});
