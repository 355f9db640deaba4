import { describe, expect, it } from '@jest/globals';
import { Readiness } from '../../src/http/readiness.ts';
import { databaseFault } from '../../src/storage/postgres/faults.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

const settings = {
  faultOf: databaseFault,
  clockFault: () => undefined,
  whyHeld: () => undefined,
  logger: silentLogger,
  timeoutMs: 20,
};

describe('readiness (R215)', () => {
  it('is checked once for all who ask together, and again after a second', async () => {
    let looks = 0;
    const look = async () => {
      looks += 1;
    };
    const readiness = new Readiness({ ...settings, parts: [{ name: 'database', look }] });
    const verdicts = await Promise.all(Array.from({ length: 1_000 }, () => readiness.check()));
    expect(new Set(verdicts.map(({ isReady }) => isReady))).toEqual(new Set([true]));
    await readiness.check();
    expect(looks).toBe(1);
  });

  it('says at once whether the data is held and the clock is wrong, also within that second', async () => {
    let [whyHeld, clockFault]: (string | undefined)[] = ['a copy', 'It is slow.'];
    const readiness = new Readiness({
      ...settings,
      parts: [{ name: 'database', look: async () => undefined }],
      whyHeld: () => whyHeld,
      clockFault: () => clockFault,
    });
    expect(await readiness.check()).toEqual({
      isReady: true,
      degraded: { check: 'clock', reason: 'It is slow.' },
      held: { reason: 'a copy' },
    });
    [whyHeld, clockFault] = [undefined, undefined];
    expect(await readiness.check()).toEqual({ isReady: true });
  });

  it('is checked again when the database refused a request', async () => {
    let looks = 0;
    const look = async () => {
      looks += 1;
    };
    const readiness = new Readiness({ ...settings, parts: [{ name: 'database', look }] });
    await readiness.check();
    await eventually(async () => {
      readiness.doubt();
      await readiness.check();
      return looks === 2;
    }, 900);
  });

  it('has a time limit, and no second check starts before the first has ended', async () => {
    let looks = 0;
    let answer: () => void = () => undefined;
    const look = () => {
      looks += 1;
      return new Promise<void>((resolve) => {
        answer = resolve;
      });
    };
    const readiness = new Readiness({ ...settings, parts: [{ name: 'database', look }] });
    const silent = { isReady: false, check: 'database', reason: 'The database does not answer in time.' };
    expect(await readiness.check()).toEqual(silent);
    // Let the last answer become old.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect([await readiness.check(), looks]).toEqual([silent, 1]);
    answer();
    await new Promise((resolve) => setImmediate(resolve));
    void readiness.check();
    expect(looks).toBe(2);
    answer();
  });

  it.each([
    ['database', '53100', 'The disk of the database is full.'],
    ['database', '25006', 'The database takes no writes: it is a standby, or set to read-only.'],
    ['database', '53300', 'The database has no connection left.'],
    ['database', 'ECONNREFUSED', 'The database cannot be reached.'],
    ['database', '23505', 'The database refuses a write; the log says why.'],
    ['worker', '', 'The worker has stopped looking for jobs; the log says why.'],
  ] as const)('says of the %s what is wrong, and nothing of the inside (%s)', async (name, code, reason) => {
    const look = async () => {
      throw Object.assign(new Error('could not extend file "base/16384/16523"'), { code });
    };
    const readiness = new Readiness({ ...settings, parts: [{ name, look }] });
    expect(await readiness.check()).toEqual({ isReady: false, check: name, reason });
  });
});
