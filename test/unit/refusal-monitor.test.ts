import { describe, expect, it } from '@jest/globals';
import { notFound, serviceUnavailable } from '../../src/domain/errors.ts';
import { RefusalMonitor } from '../../src/domain/refusal-monitor.ts';
import { silentLogger } from '../support/database.ts';

function setUp() {
  const state = { now: 0, takesWrites: true };
  const lines: [string, Record<string, unknown>, string][] = [];
  const refusals = new RefusalMonitor({
    logger: {
      ...silentLogger,
      warn: (fields, message) => void lines.push(['warn', fields as Record<string, unknown>, message]),
      info: (fields, message) => void lines.push(['info', fields as Record<string, unknown>, message]),
    },
    takesWrites: async () => state.takesWrites,
    now: () => state.now,
  });
  return { refusals, state, lines };
}

const full = serviceUnavailable('No room.', 1, 'database_full', new Error('could not extend file'));
const busy = serviceUnavailable('Too much.');

describe('the log of refusals', () => {
  it('has one line at the start and one at the end of each reason, with count and duration', async () => {
    const { refusals, state, lines } = setUp();
    for (state.now = 0; state.now <= 20_000; state.now += 1_000) {
      refusals.note(full);
      await refusals.settle();
    }
    expect(lines).toEqual([
      [
        'warn',
        { refusal: 'database_full', answer: 'No room.', err: full.cause },
        'requests are refused: the disk of the database is full',
      ],
    ]);
    state.now = 24_999;
    await refusals.settle();
    expect(lines).toHaveLength(1);
    state.now = 25_000;
    await refusals.settle();
    await refusals.settle();
    expect(lines.slice(1)).toEqual([
      [
        'info',
        { refusal: 'database_full', answer: 'No room.', refused: 21, durationMs: 20_000 },
        'requests are no longer refused: the disk of the database is full',
      ],
    ]);
    expect([...refusals.counts()]).toEqual([['database_full', { total: 21, isInProgress: false }]]);
  });

  it('ends refusals by the database when it takes writes again, not by time', async () => {
    const { refusals, state, lines } = setUp();
    state.takesWrites = false;
    refusals.note(full);
    refusals.note(busy);
    state.now = 60_000;
    await refusals.settle();
    expect(lines.map(([level, { refusal }]) => [level, refusal])).toEqual([
      ['warn', 'database_full'],
      ['warn', 'overloaded'],
      ['info', 'overloaded'],
    ]);
    state.takesWrites = true;
    await refusals.settle();
    expect(lines.at(-1)?.[1]).toMatchObject({ refusal: 'database_full', refused: 1 });
  });

  it('ignores refusals that the client caused', () => {
    const { refusals, lines } = setUp();
    refusals.note(notFound('Message'));
    expect([lines, [...refusals.counts()]]).toEqual([[], []]);
  });
});
