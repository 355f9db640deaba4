import { describe, expect, it } from '@jest/globals';
import { askFrom, blockOf, boundOf, neighboursOf, SeenNumbers } from '../../src/domain/limits/pumping.ts';

const HOUR_MS = 3_600_000;
const number = (at: number) => `+${256_770_000_000 + at}`;

describe('pumping', () => {
  it('takes 1,000 numbers in a row as a block, with the blocks beside it (R392)', () => {
    expect(blockOf('+256770000123')).toBe('+256770000');
    expect(neighboursOf('+256770000')).toEqual(['+256769999', '+256770001']);
    expect(neighboursOf('+0')).toEqual(['+1']);
  });

  it('has a higher bound for an account that writes to many numbers of a network (R392)', () => {
    expect([0, 1_000, 5_000, 200_000].map((busiestDay) => boundOf('+256770000123', busiestDay))).toEqual([
      12, 12, 15, 132,
    ]);
    // A country with short numbers has fewer blocks, so more numbers fall into each.
    expect(boundOf('+37112345', 100)).toBeGreaterThan(boundOf('+37112345678', 100));
  });

  it('asks the database from the 4th number on, or from a quarter of the bound (R396)', () => {
    expect([12, 15, 132, 10_000].map(askFrom)).toEqual([4, 4, 33, 256]);
  });

  it('counts different numbers of a block and its fuller neighbour, by account (R392)', () => {
    const seen = new SeenNumbers();
    const counts = [998, 999, 999, 1_000, 1_001].map((at) => seen.add('a', number(at), 0));
    expect(counts).toEqual([1, 2, 2, 3, 4]);
    expect(seen.add('b', number(999), 0)).toBe(1);
  });

  it('forgets numbers after an hour (R392)', () => {
    const seen = new SeenNumbers();
    seen.add('a', number(1), 0);
    seen.add('a', number(2), HOUR_MS / 2);
    expect(seen.add('a', number(3), HOUR_MS)).toBe(2);
    expect(seen.add('a', number(3), 2 * HOUR_MS)).toBe(1);
  });

  it('passes each number to the database once (R396)', () => {
    const seen = new SeenNumbers();
    for (const at of [1, 2, 1_001]) seen.add('a', number(at), 0);
    const added = seen.local('a', blockOf(number(1)));
    expect([...added].sort()).toEqual([number(1), number(2), number(1_001)].sort());
    seen.mark('a', added, 'stored');
    seen.add('a', number(2), 1);
    expect(seen.local('a', blockOf(number(1)))).toEqual([]);
  });

  it('does not count numbers that the account wrote to before (R392)', () => {
    const seen = new SeenNumbers();
    for (const at of [1, 2, 3]) seen.add('a', number(at), 0);
    seen.mark('a', [number(1), number(2)], 'known');
    seen.mark('a', [number(1)], 'stored');
    seen.mark('a', [number(1)], 'known');
    expect(seen.add('a', number(1), 1)).toBe(1);
    expect(seen.add('a', number(4), 1)).toBe(2);
  });

  it('has a bounded memory, and forgets first what was not used for longest', () => {
    const seen = new SeenNumbers();
    seen.add('a', number(1), 0);
    for (let at = 0; at < 200_000; at += 1) seen.add('b', number(at * 1_000), 0);
    expect(seen.local('a', blockOf(number(1)))).toEqual([]);
    for (let at = 0; at < 1_000; at += 1) seen.add('c', number(at), 0);
    expect(seen.local('c', blockOf(number(1)))).toHaveLength(256);
  });
});
