import { describe, expect, it } from '@jest/globals';
import type { Logger } from '../../src/domain/ports/logger.ts';
import { DatabaseClock, describeSkew } from '../../src/storage/postgres/database-clock.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const START_MS = Date.parse('2026-12-01T09:30:00.000Z');
const HOUR_MS = 3_600_000;

/**
 * Starts a clock between a database and a process. The test sets the time of both. A query takes `takesMs` in each
 * direction.
 */
function startWorld() {
  const lines: string[] = [];
  const note = (_fields: object, text: string) => void lines.push(text);
  const logger: Logger = { ...silentLogger, warn: note, info: note };
  const world = {
    databaseMs: START_MS,
    monotonicMs: 1_000,
    wallMs: START_MS,
    uptimeMs: 5_000_000,
    /** For each query: the time to the database and back, in ms. The last entry holds for all later queries. */
    ways: [[1, 1]] as [there: number, back: number][],
    asked: 0,
    isAway: false,
    /** Called while a query is on its way. */
    meanwhile: (): void => undefined,
    /** Advances all clocks by `ms`. */
    pass(ms: number) {
      world.databaseMs += ms;
      world.monotonicMs += ms;
      world.wallMs += ms;
      world.uptimeMs += ms;
    },
    /** Advances all clocks except the monotonic clock, as a suspension of a machine with Linux does. */
    suspend(ms: number) {
      world.pass(ms);
      world.monotonicMs -= ms;
    },
  };
  const clock = new DatabaseClock(logger, () => ({
    monotonicMs: world.monotonicMs,
    wallMs: world.wallMs,
    uptimeMs: () => world.uptimeMs,
  }));
  const start = () =>
    clock.start((work) =>
      work(async () => {
        if (world.isAway) throw new Error('the database is away');
        await Promise.resolve();
        const [there, back] = (world.ways.length > 1 ? world.ways.shift() : world.ways[0]) ?? [0, 0];
        world.asked += 1;
        world.pass(there);
        const answerMs = world.databaseMs;
        world.meanwhile();
        world.pass(back);
        return answerMs;
      }),
    );
  return { world, clock, start, lines };
}

describe('the clock of the database, kept in a process (ADR-0021)', () => {
  it("follows the database's time without asking each time", async () => {
    const { world, clock, start } = startWorld();
    world.wallMs += 25 * HOUR_MS;
    await start();
    const { asked } = world;
    expect(clock.now().getTime()).toBe(world.databaseMs);
    world.pass(4_000);
    expect(clock.now().getTime()).toBe(world.databaseMs);
    expect(world.asked).toBe(asked);
    expect(Math.round(clock.skewMs)).toBe(25 * HOUR_MS);
    await clock.stop();
  });

  it('has no time before the first answer', async () => {
    const { world, clock, start } = startWorld();
    expect(() => clock.now()).toThrow('not asked');
    world.isAway = true;
    await expect(start()).rejects.toThrow('away');
  });

  it('uses the fastest answer, and half of its round trip', async () => {
    const { world, clock, start } = startWorld();
    world.ways = [
      [0, 900],
      [10, 10],
      [0, 400],
    ];
    await start();
    expect(clock.now().getTime()).toBe(world.databaseMs);
    await clock.stop();
  });

  it('does not jump when an answer is within its own uncertainty', async () => {
    const { world, clock, start } = startWorld();
    await start();
    world.ways = [[0, 300]];
    await clock.agrees();
    expect(clock.now().getTime()).toBe(world.databaseMs);
    world.databaseMs += 1_000;
    await clock.agrees();
    expect(Math.abs(clock.now().getTime() - world.databaseMs)).toBeLessThanOrEqual(150);
    await clock.stop();
  });

  it('asks again once when the wall clock is set', async () => {
    const { world, clock, start } = startWorld();
    await start();
    const { asked } = world;
    world.wallMs -= 3 * HOUR_MS;
    expect(clock.now().getTime()).toBe(world.databaseMs);
    await eventually(() => world.asked === asked + 3);
    clock.now();
    await new Promise((resolve) => setImmediate(resolve));
    expect(world.asked).toBe(asked + 3);
    // Even if no answer arrives, the clock sends only one query.
    world.isAway = true;
    world.wallMs += 3 * HOUR_MS;
    clock.now();
    clock.now();
    await expect(clock.agrees()).rejects.toThrow('away');
    expect(clock.now().getTime()).toBe(world.databaseMs);
    await clock.stop();
  });

  it('goes on with the right time after the machine was suspended, also while the database is away', async () => {
    const { world, clock, start } = startWorld();
    await start();
    world.isAway = true;
    for (let time = 0; time < 2; time += 1) {
      world.suspend(HOUR_MS);
      expect(clock.now().getTime()).toBe(world.databaseMs);
      world.pass(1_000);
      expect(clock.now().getTime()).toBe(world.databaseMs);
    }
    // Changing the wall clock must not count as a suspension of the machine.
    world.wallMs += HOUR_MS;
    expect(clock.now().getTime()).toBe(world.databaseMs);
    await expect(clock.agrees()).rejects.toThrow('away');
    world.isAway = false;
    await clock.agrees();
    expect(clock.now().getTime()).toBe(world.databaseMs);
    await clock.stop();
  });

  it('discards its answers after the machine was suspended', async () => {
    const { world, clock, start } = startWorld();
    world.ways = [
      [0, 0],
      [5, 5],
      [7, 7],
    ];
    let questions = 0;
    world.meanwhile = () => {
      questions += 1;
      if (questions !== 2) return;
      // On Linux, the monotonic clock stops while the machine is suspended.
      world.databaseMs += HOUR_MS;
      world.wallMs += HOUR_MS;
    };
    await start();
    expect(clock.now().getTime()).toBe(world.databaseMs);
    world.meanwhile = () => {
      world.databaseMs += HOUR_MS;
      world.wallMs += HOUR_MS;
    };
    await expect(clock.agrees()).rejects.toThrow('was set while');
    await clock.stop();
  });

  it.each([
    [4_900, undefined],
    [-4_900, undefined],
    [
      5_100,
      "This machine's clock is 5.1 s ahead of the database's. Let NTP set the clocks of both machines.",
    ],
    [
      -72 * HOUR_MS,
      "This machine's clock is 3 days behind the database's. Let NTP set the clocks of both machines.",
    ],
  ])('allows a skew of 5 s (%i ms)', async (skewMs, fault) => {
    const { world, clock, start } = startWorld();
    world.wallMs += skewMs;
    await start();
    expect([await clock.agrees(), clock.fault()]).toEqual([fault === undefined, fault]);
    await clock.stop();
  });

  it('logs once when the clocks begin to disagree, and once when they agree again', async () => {
    const { world, clock, start, lines } = startWorld();
    await start();
    world.databaseMs -= HOUR_MS;
    expect([await clock.agrees(), await clock.agrees()]).toEqual([false, false]);
    expect(lines).toEqual([expect.stringContaining('the clocks disagree')]);
    world.wallMs -= HOUR_MS;
    expect([await clock.agrees(), await clock.agrees()]).toEqual([true, true]);
    expect(lines).toEqual([expect.any(String), 'the clocks agree again']);
    await clock.stop();
  });

  it.each([
    [12.4, "12.4 ms ahead of the database's"],
    [-90_000, "90 s behind the database's"],
    [90 * 60_000, "90 min ahead of the database's"],
    [25 * HOUR_MS, "25 h ahead of the database's"],
  ])('states a skew of %d ms', (skewMs, text) => expect(describeSkew(skewMs)).toBe(text));
});
