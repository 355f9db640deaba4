import { describe, expect, it } from '@jest/globals';
import { TimeShare } from '../../src/graphql/time-share.ts';

const busy = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a share of the CPU time', () => {
  it('runs one piece of work after the other, with the pause that the share requires', async () => {
    const share = new TimeShare(0.25);
    const times: { name: string; from: number; to: number }[] = [];
    const work = (name: string) => async () => {
      const from = performance.now();
      await busy(20);
      times.push({ name, from, to: performance.now() });
      return name;
    };
    expect(await Promise.all([share.run(work('a')), share.run(work('b')), share.run(work('c'))])).toEqual([
      'a',
      'b',
      'c',
    ]);
    for (const [index, { from, to }] of times.entries()) {
      const next = times[index + 1];
      if (next) expect(next.from - to).toBeGreaterThan(2.5 * (to - from));
    }
    expect(times.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('continues after failed work, and rejects that caller', async () => {
    const share = new TimeShare(0.5);
    const failed = share.run(async () => {
      throw new Error('no');
    });
    const next = share.run(async () => 'next');
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('next');
  });
});
