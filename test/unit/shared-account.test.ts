import { describe, expect, it } from '@jest/globals';
import { SharedAccount } from '../../src/storage/shared-account.ts';

/** Notes a batch of SMS whose numbers are these. */
function note(shared: SharedAccount, accountId: string, first: number, last = first) {
  const numbered = (seq: number) => ({ accountId, channel: 'sms' as const, seq });
  shared.note(numbered(first), numbered(last));
}

describe('SharedAccount', () => {
  it('takes an account for shared while there are gaps between its batches, and for eight more', () => {
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

  it('knows nothing of an account that was not the last one, nor of another channel', () => {
    const shared = new SharedAccount();
    note(shared, 'a', 1);
    note(shared, 'b', 7);
    expect(shared.is('b')).toBe(false);
    note(shared, 'b', 9);
    expect(shared.is('b')).toBe(true);
    note(shared, 'a', 5);
    expect([shared.is('a'), shared.is('b')]).toEqual([false, false]);
    shared.note({ accountId: 'a', channel: 'push', seq: 1 }, { accountId: 'a', channel: 'push', seq: 1 });
    expect(shared.is('a')).toBe(false);
  });
});
