import { describe, expect, it } from '@jest/globals';
import { SharedAccount } from '../../src/storage/intake/shared-account.ts';

const sms = (accountId: string, seq: number) => ({ accountId, channel: 'sms' as const, seq });
const push = (accountId: string, seq: number) => ({ accountId, channel: 'push' as const, seq });
/** Records a batch of SMS with these numbers. */
const note = (shared: SharedAccount, accountId: string, first: number, last = first) =>
  shared.note([sms(accountId, first), ...(last > first ? [sms(accountId, last)] : [])]);

describe('SharedAccount', () => {
  it('an account counts as shared while there are gaps between its batches, and for eight more batches', () => {
    const shared = new SharedAccount();
    note(shared, 'a', 1, 5);
    note(shared, 'a', 6, 9);
    expect(shared.is('a')).toBe(false);
    note(shared, 'a', 12, 14);
    expect([shared.is('a'), shared.is('b'), shared.is(undefined)]).toEqual([true, false, false]);
    for (let seq = 15; seq < 22; seq += 1) note(shared, 'a', seq);
    expect(shared.is('a')).toBe(true);
    note(shared, 'a', 22);
    expect(shared.is('a')).toBe(false);
  });

  it('knows only the last account and its channels', () => {
    const shared = new SharedAccount();
    note(shared, 'a', 1);
    note(shared, 'b', 7);
    expect(shared.is('b')).toBe(false);
    note(shared, 'b', 9);
    expect(shared.is('b')).toBe(true);
    note(shared, 'a', 5);
    expect([shared.is('a'), shared.is('b')]).toEqual([false, false]);
    shared.note([push('a', 1)]);
    expect(shared.is('a')).toBe(false);
  });

  it('sees no gap in what this process accepted itself, across accounts, channels and an empty start', () => {
    const shared = new SharedAccount();
    shared.note([sms('a', 1), push('a', 1), sms('a', 2)]);
    shared.note([sms('b', 5), sms('a', 3), push('a', 2), sms('a', 4), sms('b', 6)]);
    shared.note([]);
    shared.note([push('a', 3), sms('a', 5)]);
    shared.note([sms('a', 6)]);
    expect(shared.is('a')).toBe(false);
    shared.note([sms('b', 9), sms('a', 8)]);
    expect([shared.is('a'), shared.is('b')]).toEqual([true, false]);
  });

  it('sees a gap in a channel although every batch ends with another channel', () => {
    const shared = new SharedAccount();
    shared.note([sms('a', 1), push('a', 1)]);
    shared.note([sms('a', 3), push('a', 2)]);
    expect(shared.is('a')).toBe(true);
  });
});
