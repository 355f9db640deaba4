import { describe, expect, it, jest } from '@jest/globals';
import { EndpointLanes, type Lane } from '../../src/workers/webhooks/endpoint-lanes.ts';

const ANSWERED = { ok: true, durationMs: 5 };
const TIMED_OUT = { ok: false, durationMs: 10_000 };

/** Takes all free permits and returns their number. */
function fill(lane: Lane): number {
  let taken = 0;
  while (lane.tryEnter()) taken += 1;
  return taken;
}

describe('a lane for each webhook endpoint', () => {
  it('has 10 slots, and passes them on in order', async () => {
    const lanes = new EndpointLanes();
    expect([fill(lanes.of('a')), fill(lanes.of('b'))]).toEqual([10, 10]);
    const lane = lanes.of('a');
    const order: string[] = [];
    const waits = ['first', 'second', 'third'].map((name) => {
      const patience = new AbortController();
      const done = lane.enter(patience.signal).then((given) => order.push(`${name} ${given}`));
      return { patience, done };
    });
    waits[1]?.patience.abort();
    lane.leave(ANSWERED);
    lane.leave(ANSWERED);
    await Promise.all(waits.map(({ done }) => done));
    expect(order.sort()).toEqual(['first true', 'second false', 'third true']);
    expect(lanes.of('a')).toBe(lane);
  });

  it('is full with 4,000 waiting attempts: more stay in the database', () => {
    const lane = new EndpointLanes().of('a');
    fill(lane);
    const never = new AbortController().signal;
    for (let waiting = 0; waiting < 3_999; waiting += 1) void lane.enter(never);
    expect(lane.isFull).toBe(false);
    const patience = new AbortController();
    void lane.enter(patience.signal);
    expect(lane.isFull).toBe(true);
    patience.abort();
    expect(lane.isFull).toBe(false);
  });

  it('is slow while its endpoint does not answer in time, and normal again when it does', () => {
    const lane = new EndpointLanes().of('a');
    fill(lane);
    expect(lane.isSlow).toBe(false);
    lane.leave({ ok: false, durationMs: 20 });
    expect(lane.isSlow).toBe(false);
    lane.leave(TIMED_OUT);
    expect([lane.isSlow, lane.isFull, lane.isIdle]).toEqual([true, true, false]);
    lane.leave(ANSWERED);
    expect(lane.isSlow).toBe(false);
  });

  it('is slow when its endpoint holds all slots without an answer', () => {
    jest.useFakeTimers();
    try {
      const lane = new EndpointLanes().of('a');
      fill(lane);
      jest.advanceTimersByTime(1_001);
      expect(lane.isSlow).toBe(true);
      lane.leave(undefined);
      expect(lane.isSlow).toBe(false);
    } finally {
      jest.useRealTimers();
    }
  });

  it('keeps one slot when it is slow and many sockets wait', () => {
    const lanes = new EndpointLanes();
    const slow = lanes.of('slow');
    slow.tryEnter();
    slow.leave(TIMED_OUT);
    for (let index = 0; index < 101; index += 1) fill(lanes.of(`endpoint ${index}`));
    expect(lanes.isUnderPressure).toBe(true);
    expect(fill(slow)).toBe(1);
    expect(fill(lanes.of('new'))).toBe(10);
  });

  it('is forgotten when nothing is in flight', () => {
    const lanes = new EndpointLanes();
    const busy = lanes.of('busy');
    busy.tryEnter();
    const idle = lanes.of('idle');
    for (let index = 0; index < 1_000; index += 1) lanes.of(`endpoint ${index}`);
    expect(lanes.of('busy')).toBe(busy);
    expect(lanes.of('idle')).not.toBe(idle);
  });
});
