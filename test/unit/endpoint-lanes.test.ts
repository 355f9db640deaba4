import { describe, expect, it, jest } from '@jest/globals';
import { EndpointLanes, type Lane } from '../../src/workers/webhooks/endpoint-lanes.ts';

const ANSWERED = { ok: true, durationMs: 5 };
const TIMED_OUT = { ok: false, durationMs: 10_000 };

/** Takes places until one has to wait; how many. */
function fill(lane: Lane): number {
  let taken = 0;
  for (;;) {
    const place = lane.enter();
    if (place !== true) {
      place.giveUp();
      return taken;
    }
    taken += 1;
  }
}

describe('lanes of endpoints', () => {
  it('have 10 places each, apart from one another, and pass them on in order', async () => {
    const lanes = new EndpointLanes();
    expect([fill(lanes.of('a')), fill(lanes.of('b'))]).toEqual([10, 10]);
    const lane = lanes.of('a');
    const order: string[] = [];
    const waits = ['first', 'second', 'third'].map((name) => {
      const ticket = lane.enter();
      if (ticket === true) throw new Error('there was room');
      return {
        ticket,
        done: ticket.place.then((given) => order.push(`${name} ${given}`)),
      };
    });
    waits[1]?.ticket.giveUp();
    lane.leave(ANSWERED);
    lane.leave(ANSWERED);
    await Promise.all(waits.map(({ done }) => done));
    expect(order.sort()).toEqual(['first true', 'second false', 'third true']);
    expect(lanes.of('a')).toBe(lane);
  });

  it('are full when 4,000 wait: what comes beyond belongs into the backlog', () => {
    const lane = new EndpointLanes().of('a');
    fill(lane);
    for (let waiting = 0; waiting < 3_999; waiting += 1) lane.enter();
    expect(lane.isFull).toBe(false);
    const last = lane.enter();
    expect(lane.isFull).toBe(true);
    if (last !== true) last.giveUp();
    expect(lane.isFull).toBe(false);
  });

  it('call an endpoint slow when it does not answer in time, and no longer when it does', () => {
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

  it('call an endpoint slow that holds all places without a word', () => {
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

  it('leave a slow endpoint one place when many sockets wait, so that sockets never run out', () => {
    const lanes = new EndpointLanes();
    const slow = lanes.of('slow');
    slow.enter();
    slow.leave(TIMED_OUT);
    for (let index = 0; index < 101; index += 1) fill(lanes.of(`endpoint ${index}`));
    expect(lanes.isUnderPressure).toBe(true);
    expect(fill(slow)).toBe(1);
    expect(fill(lanes.of('new'))).toBe(10);
  });

  it('forget endpoints that have nothing on the wire', () => {
    const lanes = new EndpointLanes();
    const busy = lanes.of('busy');
    busy.enter();
    const idle = lanes.of('idle');
    for (let index = 0; index < 1_000; index += 1) lanes.of(`endpoint ${index}`);
    expect(lanes.of('busy')).toBe(busy);
    expect(lanes.of('idle')).not.toBe(idle);
  });
});
