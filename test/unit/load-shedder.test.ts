import { describe, expect, it } from '@jest/globals';
import { UnderWay } from '../../src/rest/middleware/load-shedder.ts';

describe('the limit of concurrent requests', () => {
  let now = 0;
  const start = (most: number) => new UnderWay(most, () => now);
  /** How many of so many get a place. */
  const enter = (underWay: UnderWay, count: number) =>
    Array.from({ length: count }, () => underWay.tryEnter()).filter((entered) => entered).length;
  const leave = (underWay: UnderWay, count: number) => {
    for (let left = 0; left < count; left += 1) underWay.leave();
  };

  it('admits requests up to the limit, however long they take', () => {
    const underWay = start(100);
    expect(enter(underWay, 60)).toBe(60);
    now += 60_000;
    expect(enter(underWay, 60)).toBe(40);
  });

  it('is half as high while requests are refused', () => {
    const underWay = start(100);
    expect(enter(underWay, 101)).toBe(100);
    leave(underWay, 60);
    expect(enter(underWay, 20)).toBe(10);
    now += 999;
    expect(enter(underWay, 1)).toBe(0);
    now += 999;
    expect(enter(underWay, 1)).toBe(0);
    leave(underWay, 10);
    expect(enter(underWay, 20)).toBe(10);
  });

  it('is whole again one second after the last refusal', () => {
    const underWay = start(100);
    expect(enter(underWay, 101)).toBe(100);
    leave(underWay, 100);
    now += 999;
    expect(enter(underWay, 60)).toBe(50);
    now += 1_000;
    expect(enter(underWay, 60)).toBe(50);
  });

  it('does not count a request that waits for its client', async () => {
    const underWay = start(1);
    expect(enter(underWay, 1)).toBe(1);
    const body = Promise.withResolvers<string>();
    const read = underWay.aside(body.promise);
    expect(enter(underWay, 1)).toBe(1);
    underWay.leave();
    body.resolve('read');
    expect(await read).toBe('read');
    expect(enter(underWay, 1)).toBe(0);
  });
});
