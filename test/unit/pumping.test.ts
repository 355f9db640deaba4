import { describe, expect, it } from '@jest/globals';
import {
  askFrom,
  blockOf,
  boundOf,
  campaignBoundOf,
  neighboursOf,
  SeenNumbers,
} from '../../src/domain/limits/pumping.ts';

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

  it('has a higher bound in a campaign over many blocks of a network, but not in an attack on a few (R392)', () => {
    const bounds = (numbers: number, blocks: number, address = '+256770000123') =>
      campaignBoundOf(address, { numbers, blocks });
    expect(bounds(5_000, 990)).toBe(42);
    expect(bounds(50_000, 1_000)).toBe(42);
    expect(bounds(1_000, 620)).toBe(18);
    expect(bounds(500, 99)).toBe(12);
    // A network of 100 blocks has no campaign, or an attack on each of them would be one.
    expect(bounds(5_000, 97, '+2482500123')).toBe(12);
  });

  it('counts numbers of a campaign in the other blocks of the same network, within the hour (R392)', () => {
    const seen = new SeenNumbers();
    for (let at = 0; at < 300; at += 1) seen.add('a', number(at * 500), at < 100 ? 0 : HOUR_MS / 2, 'm');
    seen.add('a', '+256780000001', HOUR_MS / 2, 'm');
    seen.add('a', '+25677000', HOUR_MS / 2, 'm');
    expect(seen.spread('a', number(100_000), HOUR_MS / 2)).toEqual({ numbers: 294, blocks: 147 });
    expect(seen.spread('a', number(100_000), HOUR_MS)).toEqual({ numbers: 194, blocks: 97 });
    expect(seen.spread('b', number(0), 0)).toEqual({ numbers: 0, blocks: 0 });
    // Known numbers and those of a refused message count no more.
    seen.mark('a', [number(50_000), number(50_500)], 'known');
    expect(seen.spread('a', number(100_000), HOUR_MS)).toEqual({ numbers: 192, blocks: 96 });
    seen.takeBack('a', [number(51_000)], 'm');
    expect(seen.spread('a', number(100_000), HOUR_MS)).toEqual({ numbers: 191, blocks: 96 });
  });

  it('reads no other block to know the spread of a campaign, not even while numbers are added (R392)', () => {
    const seen = new SeenNumbers();
    for (let at = 0; at < 300; at += 1) seen.add('a', number(at * 500), 0, 'm');
    const { prototype } = Map;
    const original = prototype[Symbol.iterator];
    let walks = 0;
    prototype[Symbol.iterator] = function (this: Map<unknown, unknown>) {
      walks += 1;
      return original.call(this);
    };
    try {
      const spreads = Array.from({ length: 150 }, (_, block) => seen.spread('a', number(block * 1_000), 0));
      // The first block is at the border of the network, and so is the last that has numbers.
      expect(spreads[0]).toEqual({ numbers: 296, blocks: 148 });
      expect(spreads[149]).toEqual({ numbers: 296, blocks: 148 });
      expect(spreads.slice(1, -1)).toEqual(Array(148).fill({ numbers: 294, blocks: 147 }));
      for (let at = 0; at < 100; at += 1) seen.add('a', number(200_000 + at * 1_000), 0, 'm');
      expect(seen.spread('a', number(0), 0)).toEqual({ numbers: 396, blocks: 248 });
    } finally {
      prototype[Symbol.iterator] = original;
    }
    expect(walks).toBe(0);
  });

  it('takes back the numbers of a refused message, but not those of another one too (R392)', () => {
    const seen = new SeenNumbers();
    seen.add('a', number(1), 0, 'refused');
    seen.add('a', number(1), 0, 'refused');
    seen.add('a', number(2), 0, 'refused');
    seen.add('a', number(2), 0, 'accepted');
    seen.add('a', number(3), 0, 'accepted');
    seen.add('a', number(3), 0, 'refused');
    seen.takeBack('a', [1, 2, 3].map(number), 'refused');
    expect(seen.local('a', [blockOf(number(1))])).toEqual([number(2), number(3)]);
    expect(seen.add('a', number(4), 0, 'm')).toBe(3);
  });

  it('asks the database from the 4th number on, or from a quarter of the bound (R396)', () => {
    expect([12, 15, 132, 10_000].map((bound) => askFrom(bound, 12))).toEqual([4, 4, 33, 256]);
  });

  it('asks the database from half of the bound on in a campaign, which fills all blocks by chance (R396)', () => {
    expect([13, 31, 42].map((campaignBound) => askFrom(12, campaignBound))).toEqual([6, 15, 21]);
    expect(askFrom(132, 42)).toBe(33);
  });

  it('counts different numbers of a block and its fuller neighbour, by account (R392)', () => {
    const seen = new SeenNumbers();
    const counts = [998, 999, 999, 1_000, 1_001].map((at) => seen.add('a', number(at), 0, 'm'));
    expect(counts).toEqual([1, 2, 2, 3, 4]);
    expect(seen.add('b', number(999), 0, 'm')).toBe(1);
  });

  it('forgets numbers after an hour (R392)', () => {
    const seen = new SeenNumbers();
    seen.add('a', number(1), 0, 'm');
    seen.add('a', number(2), HOUR_MS / 2, 'm');
    expect(seen.add('a', number(3), HOUR_MS, 'm')).toBe(2);
    expect(seen.add('a', number(3), 2 * HOUR_MS, 'm')).toBe(1);
  });

  it('passes each number to the database once (R396)', () => {
    const seen = new SeenNumbers();
    for (const at of [1, 2, 1_001]) seen.add('a', number(at), 0, 'm');
    const added = seen.local('a', [blockOf(number(1))]);
    expect([...added].sort()).toEqual([number(1), number(2), number(1_001)].sort());
    seen.mark('a', added, 'stored');
    seen.add('a', number(2), 1, 'm');
    expect(seen.local('a', [blockOf(number(1))])).toEqual([]);
  });

  it('does not count numbers that the account wrote to before (R392)', () => {
    const seen = new SeenNumbers();
    for (const at of [1, 2, 3]) seen.add('a', number(at), 0, 'm');
    seen.mark('a', [number(1), number(2)], 'known');
    seen.mark('a', [number(1)], 'stored');
    seen.mark('a', [number(1)], 'known');
    expect(seen.add('a', number(1), 1, 'm')).toBe(1);
    expect(seen.add('a', number(4), 1, 'm')).toBe(2);
  });

  it('keeps no block without numbers, such as those of refused messages', () => {
    const seen = new SeenNumbers();
    const refused = Array.from({ length: 100 }, (_, at) => number(at * 2_000));
    for (const address of refused) seen.add('a', address, 0, 'refused');
    seen.add('a', number(1), 0, 'accepted');
    seen.takeBack('a', refused, 'refused');
    expect(seen.blocks).toBe(1);
    // An old number in a neighbour.
    seen.add('a', number(1_000), 2 * HOUR_MS, 'accepted');
    expect(seen.blocks).toBe(1);
  });

  it('has a bounded memory, and forgets first what was not used for longest', () => {
    const seen = new SeenNumbers();
    seen.add('a', number(1), 0, 'm');
    for (let at = 0; at < 200_000; at += 1) seen.add('b', number(at * 1_000), 0, 'm');
    expect(seen.local('a', [blockOf(number(1))])).toEqual([]);
    for (let at = 0; at < 1_000; at += 1) seen.add('c', number(at), 0, 'm');
    expect(seen.local('c', [blockOf(number(1))])).toHaveLength(256);
  });
});
