import { describe, expect, it } from '@jest/globals';
import type { Changes } from '../../src/domain/ports/changes.ts';
import { placeText, type SuppressionPlace } from '../../src/domain/suppressions/suppression.ts';
import { BloomFilter } from '../../src/runtime/bloom-filter.ts';
import { SuppressionFilter } from '../../src/storage/stores/suppression-filter.ts';

const OWNER = { accountId: 'a', environment: 'production' } as const;
const placeOf = (address: string): SuppressionPlace => ({
  environment: 'production',
  channel: 'sms',
  address,
});
const numberAt = (at: number) => `+256700${String(at).padStart(6, '0')}`;

describe('a Bloom filter', () => {
  it('has every text that was added, and hardly any other', () => {
    const filter = new BloomFilter(10_000);
    for (let at = 0; at < 10_000; at += 1) filter.add(placeText(placeOf(numberAt(at))));
    let missed = 0;
    let wrong = 0;
    for (let at = 0; at < 10_000; at += 1) {
      if (!filter.mayHave(placeText(placeOf(numberAt(at))))) missed += 1;
      if (filter.mayHave(placeText(placeOf(numberAt(500_000 + at))))) wrong += 1;
    }
    expect(missed).toBe(0);
    expect(wrong).toBeLessThan(300);
    expect(filter.bytes).toBeLessThanOrEqual(32_768);
  });
});

/** The suppressions of an account in memory, and announcements of their changes. */
function setUp() {
  const stored = new Map<string, SuppressionPlace>();
  const asked: string[][] = [];
  let onChange: Parameters<Changes['subscribe']>[1] = () => undefined;
  let beforePage: () => void = () => undefined;
  const changes = {
    isListening: true,
    subscribe: (_: string, given: typeof onChange) => {
      onChange = given;
    },
  };
  const filter = new SuppressionFilter(
    {
      among: async (_owner, _channel, addresses) => {
        asked.push([...addresses]);
        return addresses.filter((each) => stored.has(each)).map((address) => ({ address, scope: 'all' }));
      },
      countUpTo: async (_accountId, most) => Math.min(most, stored.size),
      places: async (_accountId, after, limit) => {
        beforePage();
        const all = [...stored.values()].sort((one, two) => (one.address < two.address ? -1 : 1));
        return all.filter(({ address }) => !after || address > after.address).slice(0, limit);
      },
    },
    changes,
  );
  const ask = (address: string, accountId: string = OWNER.accountId) =>
    filter.among({ ...OWNER, accountId }, 'sms', [address]);
  return {
    asked,
    ask,
    changes,
    store: (address: string) => stored.set(address, placeOf(address)),
    announce: (address?: string) =>
      onChange('a', address === undefined ? undefined : placeText(placeOf(address))),
    onPage: (given: () => void) => {
      beforePage = given;
    },
    /** Looks up until the filter is loaded. */
    async load() {
      for (let at = 0; at < 20; at += 1) await ask(numberAt(900_000 + at));
      await new Promise((resolve) => setTimeout(resolve));
      asked.length = 0;
    },
  };
}

describe('the filter of suppressions', () => {
  it('asks the database about what it may have, and about nothing else (R378)', async () => {
    const { ask, asked, store, load } = setUp();
    store(numberAt(1));
    await load();
    expect(await ask(numberAt(2))).toEqual([]);
    expect(asked).toEqual([]);
    expect(await ask(numberAt(1))).toEqual([{ address: numberAt(1), scope: 'all' }]);
    expect(asked).toEqual([[numberAt(1)]]);
  });

  it('misses nothing that is stored while it is loading', async () => {
    const { ask, store, announce, load, onPage } = setUp();
    for (let at = 0; at < 2_500; at += 1) store(numberAt(1_000 + at));
    let pages = 0;
    onPage(() => {
      pages += 1;
      // Comes before the page that was read, so that no later page has it.
      if (pages === 2) {
        store(numberAt(1));
        announce(numberAt(1));
      }
    });
    await load();
    expect(pages).toBe(2);
    expect(await ask(numberAt(1))).toHaveLength(1);
    expect(await ask(numberAt(3_000))).toHaveLength(1);
  });

  it('is not kept if anything may have changed while it was loading', async () => {
    const { ask, asked, store, announce, load, onPage } = setUp();
    store(numberAt(1));
    onPage(() => announce());
    await load();
    store(numberAt(2));
    expect(await ask(numberAt(2))).toHaveLength(1);
    expect(asked).toEqual([[numberAt(2)]]);
  });

  it('asks about everything while announcements may be lost (R9)', async () => {
    const { ask, asked, changes, load } = setUp();
    await load();
    await ask(numberAt(2));
    expect(asked).toEqual([]);
    changes.isListening = false;
    await ask(numberAt(2));
    expect(asked).toEqual([[numberAt(2)]]);
  });

  it('is tried again after as many look-ups if it could not be loaded', async () => {
    const { ask, asked, load, onPage } = setUp();
    onPage(() => {
      onPage(() => undefined);
      throw new Error('no connection');
    });
    await load();
    await ask(numberAt(1));
    expect(asked).toEqual([[numberAt(1)]]);
    await load();
    await ask(numberAt(1));
    expect(asked).toEqual([]);
  });

  it('counts the look-ups of a bounded number of accounts', async () => {
    const { ask, asked, onPage } = setUp();
    let pages = 0;
    onPage(() => {
      pages += 1;
    });
    for (let at = 0; at < 19; at += 1) await ask(numberAt(at));
    for (let at = 0; at < 10_000; at += 1) await ask(numberAt(at), `other ${at}`);
    await ask(numberAt(19));
    await new Promise((resolve) => setTimeout(resolve));
    expect([asked.length, pages]).toEqual([10_020, 0]);
  });

  it('is loaded anew when it is full', async () => {
    const { ask, asked, announce, load } = setUp();
    await load();
    for (let at = 0; at <= 1_000; at += 1) announce(numberAt(at));
    await ask(numberAt(5_000));
    expect(asked).toEqual([[numberAt(5_000)]]);
    await load();
    await ask(numberAt(5_000));
    expect(asked).toEqual([]);
  });
});
