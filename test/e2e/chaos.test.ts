import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { run } from '../chaos/run.ts';
import { buildWorkplace, type Workplace } from '../support/server-process.ts';

// It starts PostgreSQL and two gateways, and waits until all is at rest.
jest.setTimeout(300_000);

const SEED = 1;
const SECONDS = 15;

describe('two gateways under random faults', () => {
  let workplace: Workplace;
  beforeAll(async () => {
    workplace = await buildWorkplace();
  });
  afterAll(() => workplace.remove());

  it('clients, carrier and receiver saw what the tables say, and the tables agree (npm run chaos)', async () => {
    const { wrong, messages, planned } = await run(workplace, {
      seed: SEED,
      seconds: SECONDS,
      log: () => undefined,
    });
    expect(wrong).toEqual([]);
    expect(planned.length).toBeGreaterThan(5);
    expect(messages).toBeGreaterThan(20);
  });
});
