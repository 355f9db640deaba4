import { describe, expect, it } from '@jest/globals';
import { REFETCH, Watch } from '../../src/domain/live/watch.ts';
import { timers } from '../../src/runtime/timers.ts';

const ids = (count: number, prefix = 'id') => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const pace = { most: 50, everyMs: 1 };

describe('a watcher of changes', () => {
  it('gets each changed object once, in batches, and changes made meanwhile afterwards', async () => {
    const watch = new Watch(timers, () => undefined);
    watch.note(['a', 'b', 'a']);
    watch.note(['b', 'c']);
    const changes = watch.changes({ most: 2, everyMs: 1 });
    expect((await changes.next()).value).toEqual(['a', 'b']);
    watch.note(['a']);
    expect((await changes.next()).value).toEqual(['c', 'a']);
    watch.close();
    expect((await changes.next()).done).toBe(true);
  });

  it('keeps 1,000 objects for a slow reader, then tells it once to read everything again', async () => {
    const watch = new Watch(timers, () => undefined);
    for (let round = 0; round < 100; round++) watch.note(ids(1_000));
    expect(watch.waiting).toBe(1_000);
    watch.note(['one more']);
    expect(watch.waiting).toBe(0);
    for (let round = 0; round < 10; round++) watch.note(ids(1_000, `r${round}-`));
    expect(watch.waiting).toBe(0);
    const changes = watch.changes(pace);
    expect((await changes.next()).value).toBe(REFETCH);
    watch.note(['after']);
    expect((await changes.next()).value).toEqual(['after']);
    watch.close();
  });

  it('waits for a change, and ends at once when it is closed', async () => {
    let closed = 0;
    const watch = new Watch(timers, () => {
      closed += 1;
    });
    const changes = watch.changes({ most: 1, everyMs: 60_000 });
    const first = changes.next();
    watch.note(['a']);
    expect((await first).value).toEqual(['a']);
    const second = changes.next();
    watch.note(['b']);
    watch.close();
    expect((await second).done).toBe(true);
    watch.close();
    expect(closed).toBe(1);

    const idle = new Watch(timers, () => undefined);
    const waiting = idle.changes(pace).next();
    idle.close();
    expect((await waiting).done).toBe(true);
  });

  it('tells the reader to read everything again when changes were missed', async () => {
    const watch = new Watch(timers, () => undefined);
    watch.note(['a']);
    watch.note(undefined);
    const changes = watch.changes(pace);
    expect((await changes.next()).value).toBe(REFETCH);
    watch.close();
  });
});
