import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Arena, openArena } from '../chaos/arena.ts';
import { run } from '../chaos/run.ts';

// The test starts PostgreSQL and two gateways, and waits until no work is left. That takes long on a busy machine.
jest.setTimeout(600_000);

const SEED = 1;
const SECONDS = 60;

describe('two gateways under random faults', () => {
  let arena: Arena;
  beforeAll(async () => {
    arena = await openArena();
  });
  afterAll(() => arena?.remove());

  it('clients, carrier and receiver saw what the tables say, and the tables agree (npm run chaos)', async () => {
    const { wrong, messages, planned } = await run(arena, {
      seed: SEED,
      seconds: SECONDS,
      restSeconds: 90,
      log: () => undefined,
    });
    expect(wrong).toEqual([]);
    expect(planned.length).toBeGreaterThan(20);
    expect(messages).toBeGreaterThan(20);
  });
});
