import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import {
  contractRowsIn,
  decisionsIn,
  README,
  ROWS,
  readCoverage,
  readmeOf,
  readNotHeldYet,
} from './coverage.ts';

describe('the promises and the tests that hold them', () => {
  it('understands how titles name rows and numbers', () => {
    expect(decisionsIn('x (decision 5)')).toEqual(['decision 5']);
    expect(decisionsIn('x [decisions 2, 3 and 13–15]').join()).toBe(
      'decision 2,decision 3,decision 13,decision 14,decision 15',
    );
    expect(contractRowsIn('x (contract "URL requirements" 2, decision 32)')).toEqual(['URL requirements: 2']);
    expect(contractRowsIn('x (contract, POST /developers/sms, rules 1–2; Limits: Burst)')).toEqual([
      'POST /developers/sms: rule 1',
      'POST /developers/sms: rule 2',
      'Limits: Burst',
    ]);
    expect(contractRowsIn('x [contract, Versioning]')).toHaveLength(4);
    expect(contractRowsIn('x [contract, Limits: of nothing]')).toEqual([]);
    expect(contractRowsIn('x [contract, Limits: SMS message; contract, Errors: 429]')).toEqual([
      'Limits: SMS message',
      'Errors: 429',
    ]);
    expect(contractRowsIn('x [contract, SMS message metadata: smsCount]')).toEqual([
      'SMS message metadata: smsCount',
    ]);
    expect(contractRowsIn('x [contract, GET /developers/sms/history]')).toEqual([
      'GET /developers/sms/history',
    ]);
  });

  it('holds every row and every decision by a named test', async () => {
    const coverage = await readCoverage();
    const missing = ROWS.filter((row) => coverage.get(row)?.length === 0);
    const allowed = await readNotHeldYet();
    expect(missing.filter((row) => !allowed.includes(row))).toEqual([]);
  });

  it('lists as not held yet only what is not', async () => {
    const coverage = await readCoverage();
    expect((await readNotHeldYet()).filter((row) => coverage.get(row)?.length !== 0)).toEqual([]);
  });

  it('is told in README.md (`npm run contract-table` writes it)', async () => {
    expect(await readFile(README, 'utf8')).toBe(readmeOf(await readCoverage()));
  });
});
