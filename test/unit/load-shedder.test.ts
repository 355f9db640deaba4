import { describe, expect, it } from '@jest/globals';
import { LoadShedder } from '../../src/rest/middleware/load-shedder.ts';

describe('the limit of concurrent requests', () => {
  let now = 0;
  const start = (most: number) => new LoadShedder(most, () => now);
  /** Returns how many of `count` requests are admitted. */
  const enter = (shedder: LoadShedder, count: number) =>
    Array.from({ length: count }, () => shedder.tryAdmit()).filter((entered) => entered).length;
  const leave = (shedder: LoadShedder, count: number) => {
    for (let left = 0; left < count; left += 1) shedder.release();
  };

  it('admits requests up to the limit, however long they take', () => {
    const shedder = start(100);
    expect(enter(shedder, 60)).toBe(60);
    now += 60_000;
    expect(enter(shedder, 60)).toBe(40);
  });

  it('is half as high while requests are refused', () => {
    const shedder = start(100);
    expect(enter(shedder, 101)).toBe(100);
    leave(shedder, 60);
    expect(enter(shedder, 20)).toBe(10);
    now += 999;
    expect(enter(shedder, 1)).toBe(0);
    now += 999;
    expect(enter(shedder, 1)).toBe(0);
    leave(shedder, 10);
    expect(enter(shedder, 20)).toBe(10);
  });

  it('is whole again one second after the last refusal', () => {
    const shedder = start(100);
    expect(enter(shedder, 101)).toBe(100);
    leave(shedder, 100);
    now += 999;
    expect(enter(shedder, 60)).toBe(50);
    now += 1_000;
    expect(enter(shedder, 60)).toBe(50);
  });

  it('does not count a request that waits for its client', async () => {
    const shedder = start(1);
    expect(enter(shedder, 1)).toBe(1);
    const body = Promise.withResolvers<string>();
    const read = shedder.releaseWhile(body.promise);
    expect(enter(shedder, 1)).toBe(1);
    shedder.release();
    body.resolve('read');
    expect(await read).toBe('read');
    expect(enter(shedder, 1)).toBe(0);
  });
});
