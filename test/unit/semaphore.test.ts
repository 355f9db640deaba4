import { describe, expect, it } from '@jest/globals';
import { Semaphore } from '../../src/runtime/semaphore.ts';

/** Lets all callbacks run that are ready. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Semaphore', () => {
  it('gives as many permits as its limit, and then one for each release, in order', async () => {
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

  it('gives no permit to a caller that gave up, while it waits or before', async () => {
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

  it('passes on the permit of a caller that gives up between being woken and going on', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const patience = new AbortController();
    const second = semaphore.acquire(patience.signal);
    const third = semaphore.acquire();
    semaphore.release();
    patience.abort();
    expect(await second).toBe(false);
    expect(await third).toBe(true);
    expect([semaphore.held, semaphore.waiting]).toEqual([1, 0]);
  });

  it('lets nobody overtake those who wait', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const second = semaphore.acquire();
    semaphore.release();
    expect(semaphore.tryAcquire()).toBe(false);
    expect(await second).toBe(true);
    semaphore.release();
    expect(semaphore.tryAcquire()).toBe(true);
  });

  it('follows a limit that changes', async () => {
    let limit = 3;
    const semaphore = new Semaphore(() => limit);
    for (let held = 0; held < 3; held += 1) await semaphore.acquire();
    const fourth = semaphore.acquire();
    limit = 1;
    semaphore.release();
    semaphore.release();
    await settled();
    expect([semaphore.held, semaphore.waiting]).toEqual([1, 1]);
    semaphore.release();
    expect(await fourth).toBe(true);
  });

  it('rejects those who wait, and takes later callers', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    const waiting = [semaphore.acquire(), semaphore.acquire()];
    semaphore.rejectWaiters();
    expect(await Promise.all(waiting)).toEqual([false, false]);
    const later = semaphore.acquire();
    semaphore.release();
    expect(await later).toBe(true);
  });

  it('closes when the last permit is released, and gives none meanwhile', async () => {
    const semaphore = new Semaphore(2);
    await semaphore.acquire();
    await semaphore.acquire();
    const waiting = semaphore.acquire();
    let isClosed = false;
    const closed = semaphore.close(60_000).then(() => {
      isClosed = true;
    });
    expect(await waiting).toBe(false);
    semaphore.release();
    await settled();
    expect([isClosed, semaphore.tryAcquire(), await semaphore.acquire()]).toEqual([false, false, false]);
    semaphore.release();
    await closed;
    await expect(semaphore.run(async () => 'done')).rejects.toThrow('closed');
  });

  it('closes after the grace period although a permit is held', async () => {
    const semaphore = new Semaphore(1);
    await semaphore.acquire();
    await semaphore.close(1);
    expect(semaphore.held).toBe(1);
  });

  it('releases the permit when the work fails', async () => {
    const semaphore = new Semaphore(1);
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await semaphore.run(async () => 'yes')).toBe('yes');
  });
});
