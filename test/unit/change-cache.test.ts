import { describe, expect, it } from '@jest/globals';
import type { Changes } from '../../src/domain/ports/changes.ts';
import { ChangeCache } from '../../src/runtime/change-cache.ts';

function fakeChanges(isListening = true) {
  const subscribers: ((id: string | undefined) => void)[] = [];
  const changes: Changes = { isListening, subscribe: (_kind, onChange) => void subscribers.push(onChange) };
  return { changes, announce: (id: string | undefined) => subscribers.forEach((tell) => void tell(id)) };
}

describe('ChangeCache', () => {
  it('loads an id once, and again after a change of it was announced', async () => {
    const { changes, announce } = fakeChanges();
    let loads = 0;
    const cache = new ChangeCache('api-key', changes, async (id) => `${id}${++loads}`);
    expect(await cache.get('a')).toBe('a1');
    expect(await cache.get('a')).toBe('a1');
    announce('b');
    expect(await cache.get('a')).toBe('a1');
    announce('a');
    expect(await cache.get('a')).toBe('a2');
    announce(undefined);
    expect(await cache.get('a')).toBe('a3');
  });

  it('drops a value that was read before a change was announced', async () => {
    const { changes, announce } = fakeChanges();
    let release: (value: string) => void = () => undefined;
    const answers = [new Promise<string>((resolve) => (release = resolve)), Promise.resolve('new')];
    let calls = 0;
    const cache = new ChangeCache('api-key', changes, () => answers[calls++] as Promise<string>);
    const first = cache.get('a');
    announce('a');
    release('old');
    expect(await first).toBe('old');
    expect(await cache.get('a')).toBe('new');
  });

  it('recalls what it loaded last, until a change of it is announced, and forgets on demand', async () => {
    const { changes, announce } = fakeChanges(false);
    const cache = new ChangeCache('session', changes, async (id) => id);
    for (const id of ['a', 'b', 'c']) await cache.get(id);
    const recalled = () => Promise.all(['a', 'b', 'c'].map((id) => cache.recall(id)));
    expect(await recalled()).toEqual(['a', 'b', 'c']);
    announce('a');
    cache.forget('b');
    expect(await recalled()).toEqual([undefined, undefined, 'c']);
    announce(undefined);
    expect(await recalled()).toEqual([undefined, undefined, undefined]);
  });

  it('evicts the least recently used value above its capacity', async () => {
    const { changes } = fakeChanges();
    const loaded: string[] = [];
    const cache = new ChangeCache(
      'api-key',
      changes,
      async (id) => {
        loaded.push(id);
        return id;
      },
      2,
    );
    for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.get(id);
    expect(loaded).toEqual(['a', 'b', 'c', 'b']);
  });
});
