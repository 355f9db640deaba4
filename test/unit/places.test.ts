import { describe, expect, it } from '@jest/globals';
import { Places } from '../../src/queue/places.ts';

const bench = (concurrency: number, perGroup: number) => {
  let told = 0;
  const places = new Places({ concurrency, perGroup }, () => {
    told += 1;
  });
  return { places, told: () => told };
};

describe('the places of a worker', () => {
  it('are shared by groups, each up to its share', () => {
    const { places, told } = bench(3, 2);
    const [first] = [places.take('a'), places.take('a')];
    expect([places.hasRoomFor('a'), places.hasRoomFor('b'), places.fullGroups()]).toEqual([
      false,
      true,
      ['a'],
    ]);
    places.take('b');
    expect([places.room, places.hasRoomFor('c')]).toEqual([0, false]);
    expect(told()).toBe(0);
    first?.free();
    expect(told()).toBeGreaterThan(0);
    expect([places.room, places.hasRoomFor('a'), places.fullGroups()]).toEqual([1, true, []]);
  });

  it('are left to others by jobs that only wait, up to eight times as many in all and in a group', () => {
    const { places, told } = bench(4, 2);
    const waiting = Array.from({ length: 16 }, () => {
      expect(places.hasRoomFor('a')).toBe(true);
      const place = places.take('a');
      place.onlyWaits();
      place.onlyWaits();
      return place;
    });
    expect([places.hasRoomFor('a'), places.fullGroups(), places.room]).toEqual([false, ['a'], 4]);
    for (let n = 0; n < 16; n++) places.take('b').onlyWaits();
    expect([places.room, places.hasRoomFor('c')]).toEqual([0, false]);
    const before = told();
    for (const place of waiting) place.free();
    expect(told()).toBeGreaterThan(before);
    expect([places.hasRoomFor('a'), places.fullGroups(), places.room]).toEqual([true, ['b'], 4]);
  });

  it('of jobs that do not count any more keep their group’s share', () => {
    const { places } = bench(2, 1);
    const place = places.take('a');
    place.uncount();
    expect([places.room, places.fullGroups()]).toEqual([2, ['a']]);
    place.free();
    expect([places.room, places.hasRoomFor('a')]).toEqual([2, true]);
  });
});
