import { describe, expect, it, jest } from '@jest/globals';
import { Batcher } from '../../src/runtime/batcher.ts';
import { presentReader, ReadScope, withinReadScope } from '../../src/runtime/read-scope.ts';

/** A batcher whose batches end when the test says so. So the test decides which items arrive while a batch runs. */
function gated(pauseMs?: number) {
  const batches: { items: readonly number[]; finish: () => void }[] = [];
  const batcher = new Batcher<number, number>(
    (items) =>
      new Promise((resolve) => {
        batches.push({ items, finish: () => resolve(items.map((item) => item * 10)) });
      }),
    { maxWeight: 3, ...(pauseMs === undefined ? {} : { pauseMs }) },
  );
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return { batcher, batches, turn };
}

describe('Batcher', () => {
  it('runs batches outside the read scope of the caller that starts them', async () => {
    const scope = new ReadScope(new AbortController().signal, { isSubscription: true });
    const batcher = new Batcher<string, boolean>(
      async (items) => items.map(() => presentReader() !== undefined),
      { maxWeight: 1 },
    );
    const answers = withinReadScope(scope, async () => {
      expect(presentReader()).toBe(scope.signal);
      return Promise.all([batcher.add('first'), batcher.add('second')]);
    });
    expect(await answers).toEqual([false, false]);
  });

  it('runs one batch at a time, and puts what arrives meanwhile into the next, up to the weight limit', async () => {
    const { batcher, batches, turn } = gated();
    const first = batcher.add(1);
    await turn();
    const rest = [2, 3, 4, 5].map((item) => batcher.add(item));
    await turn();
    expect(batches.map(({ items }) => items)).toEqual([[1]]);
    expect(batcher.waitingWeight).toBe(4);
    batches[0]?.finish();
    await turn();
    expect(batches[1]?.items).toEqual([2, 3, 4]);
    batches[1]?.finish();
    await turn();
    batches[2]?.finish();
    expect(await first).toBe(10);
    expect(await Promise.all(rest)).toEqual([20, 30, 40, 50]);
    expect(batches[2]?.items).toEqual([5]);
  });

  it('takes half of a large queue, so that the other half is answered meanwhile', async () => {
    const batches: { items: readonly number[]; finish: () => void }[] = [];
    const batcher = new Batcher<number, number>(
      (items) =>
        new Promise((resolve) => {
          batches.push({ items, finish: () => resolve(items) });
        }),
      { maxWeight: 1_000, halvedAbove: 4 },
    );
    const until = async (holds: () => boolean) => {
      while (!holds()) await new Promise((resolve) => setImmediate(resolve));
    };
    // Ten callers. Each calls again as soon as it is answered.
    let answered = 0;
    const ask = async (item: number) => {
      for (;;) {
        await batcher.add(item);
        answered += 1;
      }
    };
    for (let item = 0; item < 10; item += 1) void ask(item);
    for (let batch = 0; batch < 6; batch += 1) {
      await until(() => batches.length > batch && answered === Math.max(0, batch - 1) * 5);
      batches[batch]?.finish();
    }
    await until(() => answered === 30 && batches.length === 7);
    expect(batches.map(({ items }) => items.length)).toEqual([5, 5, 5, 5, 5, 5, 5]);
    // Now with small batches.
    const few = new Batcher<number, number>(
      async (items) => {
        sizes.push(items.length);
        return items;
      },
      { maxWeight: 1_000, halvedAbove: 4 },
    );
    const sizes: number[] = [];
    await Promise.all([1, 2, 3, 4].map((item) => few.add(item)));
    expect(sizes).toEqual([4]);
  });

  it('starts the next batch before it resolves the callers of the last', async () => {
    const done: string[] = [];
    const finish: (() => void)[] = [];
    const batcher = new Batcher<number, number>(
      (items) => {
        // Like a statement that is sent at the end of the current turn of the event loop.
        setImmediate(() => done.push(`begun ${items}`));
        return new Promise((resolve) => finish.push(() => resolve(items)));
      },
      { maxWeight: 1 },
    );
    const first = batcher.add(1).then(() => done.push('answered 1'));
    while (finish.length === 0) await new Promise((resolve) => setImmediate(resolve));
    void batcher.add(2);
    finish[0]?.();
    await first;
    expect(done).toEqual(['begun 1', 'begun 2', 'answered 1']);
  });

  it('adds matching items to a batch that had to wait, while there is room, and keeps the order of the others', async () => {
    const batches: number[][] = [];
    const begin: (() => void)[] = [];
    const isOdd = (item: number) => item % 2 === 1;
    const batcher = new Batcher<number, number>(
      async (items, takeMore) => {
        await new Promise<void>((resolve) => begin.push(resolve));
        const all = [...items, ...takeMore(isOdd), ...takeMore(isOdd)];
        batches.push(all);
        return all.map((item) => item * 10);
      },
      { maxWeight: 4, isolate: () => true },
    );
    const until = async (count: number) => {
      while (begin.length < count) await new Promise((resolve) => setImmediate(resolve));
    };
    const first = batcher.add(1);
    await until(1);
    const rest = [2, 3, 4, 5, 7, 9, 11].map((item) => batcher.add(item));
    begin[0]?.();
    expect(await first).toBe(10);
    expect(batcher.waitingWeight).toBe(0);
    await until(2);
    begin[1]?.();
    expect(await Promise.all(rest)).toEqual([20, 30, 40, 50, 70, 90, 110]);
    // Item 9 did not fit into the first batch. Item 11 would have fitted, but it must not overtake item 9.
    expect(batches).toEqual([
      [1, 3, 5, 7],
      [2, 4, 9, 11],
    ]);
  });

  it('retries one by one a batch that added items and failed, each with its own result', async () => {
    const tried: number[][] = [];
    const { promise: gate, resolve: begin } = Promise.withResolvers<void>();
    const batcher = new Batcher<number, number>(
      async (items, takeMore) => {
        if (tried.length === 0) await gate;
        const all = [...items, ...(tried.length === 0 ? takeMore(() => true) : [])];
        tried.push(all);
        if (all.includes(3)) throw new Error('poison');
        return all.map((item) => item * 10);
      },
      { maxWeight: 10, isolate: () => true },
    );
    const first = batcher.add(1);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const rest = [2, 3, 4].map((item) => batcher.add(item));
    begin();
    const results = await Promise.allSettled([first, ...rest]);
    expect(tried).toEqual([[1, 2, 3, 4], [1], [2], [3], [4]]);
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
      10,
      20,
      'failed',
      40,
    ]);
  });

  it('collects items during the configured pause between batches, and resolves callers without that pause', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { batcher, batches, turn } = gated(25);
      const first = batcher.add(1);
      const answered = jest.fn();
      void first.then(answered);
      await turn();
      expect(batches).toHaveLength(1);
      void batcher.add(2);
      jest.advanceTimersByTime(10);
      batches[0]?.finish();
      await turn();
      expect(answered).toHaveBeenCalledWith(10);
      void batcher.add(3);
      jest.advanceTimersByTime(14);
      await turn();
      expect(batches).toHaveLength(1);
      jest.advanceTimersByTime(1);
      await turn();
      expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3]]);
      batches[1]?.finish();
      await turn();
      jest.advanceTimersByTime(25);
      void batcher.add(4);
      await turn();
      expect(batches[2]?.items).toEqual([4]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('runs an item heavier than a batch alone', async () => {
    const batches: number[][] = [];
    const batcher = new Batcher<number, number>(
      async (items) => {
        batches.push([...items]);
        return items;
      },
      { maxWeight: 10, weight: (item) => item },
    );
    await Promise.all([4, 25, 4].map((item) => batcher.add(item)));
    expect(batches).toEqual([[4], [25], [4]]);
  });

  it('retries a failed batch one by one, so that only the bad item fails', async () => {
    const batcher = new Batcher<number, number>(
      async (items) => {
        if (items.includes(2)) throw new Error('poison');
        return items;
      },
      { maxWeight: 10, isolate: () => true },
    );
    const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails the whole batch when the error would meet every item', async () => {
    let calls = 0;
    const batcher = new Batcher<number, number>(
      async () => {
        calls += 1;
        throw new Error('the database is gone');
      },
      { maxWeight: 10, isolate: () => false },
    );
    const results = await Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    expect(calls).toBe(1);
  });

  it('drain resolves when nothing waits or runs', async () => {
    const { batcher, batches, turn } = gated();
    void batcher.add(1);
    await turn();
    let isDrained = false;
    const drained = batcher.drain().then(() => {
      isDrained = true;
    });
    await turn();
    expect(isDrained).toBe(false);
    batches[0]?.finish();
    await drained;
    expect(isDrained).toBe(true);
  });
});
