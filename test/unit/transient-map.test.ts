import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TransientMap } from '../../src/runtime/transient-map.ts';

const key = fc.integer({ min: 0, max: 5 });
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('set' as const), key, value: fc.string() }),
    fc.record({ do: fc.constant('delete' as const), key }),
  ),
);

describe('TransientMap, a map whose entries pass quickly', () => {
  it('holds what a Map holds, in the same order', () => {
    fc.assert(
      fc.property(steps, (steps) => {
        const plain = new Map<number, string>();
        const passing = new TransientMap<number, string>();
        for (const step of steps) {
          if (step.do === 'delete') expect(passing.delete(step.key)).toBe(plain.delete(step.key));
          else {
            plain.set(step.key, step.value);
            passing.set(step.key, step.value);
          }
          expect(passing.size).toBe(plain.size);
          expect([...passing.entries()]).toEqual([...plain.entries()]);
          expect([...passing.values()]).toEqual([...plain.values()]);
          for (let key = 0; key <= 5; key += 1) expect(passing.get(key)).toBe(plain.get(key));
        }
      }),
    );
  });

  it('an iteration sees entries added during it and skips those deleted during it', () => {
    const map = new TransientMap<string, number>();
    map.set('a', 1);
    map.set('b', 2);
    const seen: [string, number][] = [];
    for (const [key, value] of map.entries()) {
      seen.push([key, value]);
      if (key === 'a') {
        map.delete('b');
        map.set('c', 3);
      }
    }
    expect(seen).toEqual([
      ['a', 1],
      ['c', 3],
    ]);
  });

  it('releases deleted values, also when an old table is still referenced', async () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const map = new TransientMap<number, object>();
    map.set(0, {});
    const value = addNew(map, 1);
    // An iteration continues on the table that existed when it started.
    const begun = map.entries();
    begun.next();
    for (let key = 2; key < 1_000; key += 1) map.set(key, {});
    map.delete(1);
    // A value that was just read is kept until the end of the turn of the event loop.
    await turn();
    collect();
    expect(value.deref()).toBeUndefined();
    expect(begun.next().value?.[0]).toBe(2);
  });
});

/** Adds a value that nothing else references. */
function addNew(map: TransientMap<number, object>, key: number): WeakRef<object> {
  const value = {};
  map.set(key, value);
  return new WeakRef(value);
}
