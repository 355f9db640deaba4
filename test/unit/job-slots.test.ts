import { describe, expect, it } from '@jest/globals';
import { JobSlots } from '../../src/queue/job-slots.ts';

const bench = (concurrency: number, perRoute: number) => {
  let told = 0;
  const slots = new JobSlots({ concurrency, perRoute }, () => {
    told += 1;
  });
  return { slots, told: () => told };
};

describe('the job slots of a worker', () => {
  it('are shared by routes, each up to its share', () => {
    const { slots, told } = bench(3, 2);
    const [first] = [slots.take('a'), slots.take('a')];
    expect([slots.hasRoomFor('a'), slots.hasRoomFor('b'), slots.fullRoutes()]).toEqual([false, true, ['a']]);
    slots.take('b');
    expect([slots.room, slots.hasRoomFor('c')]).toEqual([0, false]);
    expect(told()).toBe(0);
    first?.free();
    expect(told()).toBeGreaterThan(0);
    expect([slots.room, slots.hasRoomFor('a'), slots.fullRoutes()]).toEqual([1, true, []]);
  });

  it('are released by jobs that only wait, up to eight times as many in total and for each route', () => {
    const { slots, told } = bench(4, 2);
    const waiting = Array.from({ length: 16 }, () => {
      expect(slots.hasRoomFor('a')).toBe(true);
      const slot = slots.take('a');
      slot.releaseSlotWhileWaiting();
      slot.releaseSlotWhileWaiting();
      return slot;
    });
    expect([slots.hasRoomFor('a'), slots.fullRoutes(), slots.room]).toEqual([false, ['a'], 4]);
    for (let n = 0; n < 16; n++) slots.take('b').releaseSlotWhileWaiting();
    expect([slots.room, slots.hasRoomFor('c')]).toEqual([0, false]);
    const before = told();
    for (const slot of waiting) slot.free();
    expect(told()).toBeGreaterThan(before);
    expect([slots.hasRoomFor('a'), slots.fullRoutes(), slots.room]).toEqual([true, ['b'], 4]);
  });

  it('keep a share for the route of a job whose lease was lost', () => {
    const { slots } = bench(2, 1);
    const slot = slots.take('a');
    slot.uncount();
    expect([slots.room, slots.fullRoutes()]).toEqual([2, ['a']]);
    slot.free();
    expect([slots.room, slots.hasRoomFor('a')]).toEqual([2, true]);
  });
});
