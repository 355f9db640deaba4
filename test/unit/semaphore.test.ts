import { describe, expect, it } from '@jest/globals';
import { Semaphore } from '../../src/runtime/semaphore.ts';

/** Lets everything run that is ready to. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Semaphore', () => {
  it('lets in as many as it has places, and then one for each that leaves, in order', async () => {
    const semaphore = new Semaphore(2);
    const entered: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) void semaphore.acquire().then(() => entered.push(name));
    await settled();
    expect(entered).toEqual(['a', 'b']);
    expect(semaphore.waiting).toBe(2);
    semaphore.release();
    await settled();
    expect(entered).toEqual(['a', 'b', 'c']);
    semaphore.release();
    semaphore.release();
    await settled();
    expect(entered).toEqual(['a', 'b', 'c', 'd']);
    expect(semaphore.waiting).toBe(0);
  });

  it('gives no place to a caller that gave up, while it waits or before', async () => {
    const semaphore = new Semaphore(1);
    expect(await semaphore.acquire()).toBe(true);
    const patience = new AbortController();
    const waiting = semaphore.acquire(patience.signal);
    patience.abort();
    expect(await waiting).toBe(false);
    expect(semaphore.waiting).toBe(0);
    expect(await semaphore.acquire(patience.signal)).toBe(false);
    semaphore.release();
    expect(await semaphore.acquire()).toBe(true);
  });

  it('keeps the place of a caller that gives up after it has entered', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const patience = new AbortController();
    const second = semaphore.acquire(patience.signal);
    semaphore.release();
    patience.abort();
    expect(await second).toBe(true);
    expect(semaphore.waiting).toBe(0);
  });

  it('gives the place back when the work fails', async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await semaphore.run(async () => 'yes')).toBe('yes');
  });
});
