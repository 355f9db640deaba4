import { describe, expect, it } from '@jest/globals';
import { SubmitWindow } from '../../src/channels/sms/smpp/submit-window.ts';
import { Lease } from '../../src/queue/lease.ts';
import { Semaphore } from '../../src/runtime/semaphore.ts';

describe('the lease that a process holds on its jobs (R219)', () => {
  function leaseOf(ms: number) {
    const clock = { now: 1_000, wall: 50_000 };
    const lease = new Lease(ms, () => [clock.now, clock.wall]);
    return { clock, lease, signal: lease.claim().signal };
  }

  it('ends a fixed time after the last renewal that succeeded, not earlier', () => {
    const { clock, lease, signal } = leaseOf(10);
    clock.now += 5;
    const early = lease.sign();
    clock.now += 3;
    const late = lease.sign();
    clock.now += 2;
    expect(signal.aborted).toBe(false);
    lease.renew(late);
    // The answer to an earlier renewal may arrive after that to a later one.
    lease.renew(early);
    clock.now = 1_018;
    expect(lease.hasEnded).toBe(false);
    clock.now = 1_019;
    lease.renew(lease.sign());
    expect([lease.hasEnded, signal.aborted]).toEqual([true, true]);
  });

  it('ends by the wall clock when the machine was suspended and the monotonic clock stood still', () => {
    const { clock, lease, signal } = leaseOf(10);
    clock.wall += 11;
    expect([signal.aborted, lease.hasEnded]).toEqual([true, true]);
  });

  it('does not end when the wall clock is set back', () => {
    const { clock, lease, signal } = leaseOf(10);
    clock.wall -= 3_600_000;
    clock.now += 5;
    lease.renew(lease.sign());
    clock.now += 10;
    expect([signal.aborted, lease.hasEnded]).toEqual([false, false]);
  });

  it('aborts one lost job, and leaves the others', () => {
    const { lease, signal } = leaseOf(10);
    const claim = lease.claim();
    const told: string[] = [];
    claim.signal.addEventListener('abort', () => told.push('told'));
    claim.lose();
    expect([claim.signal.aborted, signal.aborted, lease.hasEnded, told]).toEqual([
      true,
      false,
      false,
      ['told'],
    ]);
  });

  it('aborts at once a claim that is made after it ended', () => {
    const { lease } = leaseOf(10);
    lease.end();
    expect(lease.claim().signal.aborted).toBe(true);
  });

  it('computes `aborted` on read, and aborts the signals that wait', () => {
    const { clock, lease, signal } = leaseOf(10);
    const told: string[] = [];
    signal.addEventListener('abort', () => told.push('told'));
    clock.now += 11;
    expect(told).toEqual([]);
    expect(signal.aborted).toBe(true);
    lease.end();
    expect(told).toEqual(['told']);
  });

  it('ends when the process stops working', () => {
    const { lease, signal } = leaseOf(10);
    lease.end();
    expect(signal.aborted).toBe(true);
  });

  it('after its end, gives a semaphore’s permits to others, also when an I/O callback runs before any timer', async () => {
    const { clock, signal } = leaseOf(10);
    const semaphore = new Semaphore(1);
    expect(await semaphore.acquire(signal)).toBe(true);
    const late = [semaphore.acquire(signal), semaphore.acquire(signal)];
    const own = semaphore.acquire(new AbortController().signal);
    clock.now += 11;
    semaphore.release();
    expect(await Promise.all(late)).toEqual([false, false]);
    expect(await own).toBe(true);
  });

  it('after its end, gives the places of a submit window to others', async () => {
    const { clock, signal } = leaseOf(10);
    const window = new SubmitWindow(1, 1);
    expect(await window.acquire(signal)).toBe(true);
    const late = [window.acquire(signal), window.acquire(signal)];
    const own = window.acquire(new AbortController().signal);
    clock.now += 11;
    window.release();
    expect(await Promise.all(late)).toEqual([false, false]);
    expect(await own).toBe(true);
    window.close();
  });
});
