import { describe, expect, it } from '@jest/globals';
import { Gate } from '../../src/channels/gate.ts';
import { SubmitWindow } from '../../src/channels/sms/submit-window.ts';
import { Lease } from '../../src/queue/lease.ts';

describe('the lease of what a process holds', () => {
  function leaseOf(ms: number) {
    const clock = { now: 1_000 };
    return { clock, lease: new Lease(ms, () => clock.now) };
  }

  it('ends so long after the last sign of life that was taken, and not before', () => {
    const { clock, lease } = leaseOf(10);
    clock.now += 10;
    expect(lease.signal.aborted).toBe(false);
    lease.renew(1_008);
    // Answers may come in another order.
    lease.renew(1_005);
    clock.now = 1_018;
    expect(lease.hasEnded).toBe(false);
    clock.now = 1_019;
    lease.renew(1_019);
    expect([lease.hasEnded, lease.signal.aborted]).toEqual([true, true]);
  });

  it('is over for whoever looks first, and tells those who wait', () => {
    const { clock, lease } = leaseOf(10);
    const told: string[] = [];
    lease.signal.addEventListener('abort', () => told.push('told'));
    clock.now += 11;
    expect(told).toEqual([]);
    expect(lease.signal.aborted).toBe(true);
    lease.end();
    expect(told).toEqual(['told']);
  });

  it('ends with the process’s work', () => {
    const { lease } = leaseOf(10);
    lease.end();
    expect(lease.signal.aborted).toBe(true);
  });

  it('once over lets nobody through a gate, also whom an answer wakes before any timer', async () => {
    const { clock, lease } = leaseOf(10);
    const gate = new Gate(1);
    expect(await gate.enter(lease.signal)).toBe(true);
    const late = [gate.enter(lease.signal), gate.enter(lease.signal)];
    const own = gate.enter(new AbortController().signal);
    clock.now += 11;
    gate.leave();
    expect(await Promise.all(late)).toEqual([false, false]);
    expect(await own).toBe(true);
  });

  it('once over lets nobody through a submit window either', async () => {
    const { clock, lease } = leaseOf(10);
    const window = new SubmitWindow(1, 1);
    expect(await window.acquire(lease.signal)).toBe(true);
    const late = [window.acquire(lease.signal), window.acquire(lease.signal)];
    const own = window.acquire(new AbortController().signal);
    clock.now += 11;
    window.release();
    expect(await Promise.all(late)).toEqual([false, false]);
    expect(await own).toBe(true);
    window.close();
  });
});
