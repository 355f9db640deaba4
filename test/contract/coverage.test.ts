import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import {
  contractRowsIn,
  decisionsIn,
  ROWS,
  RULES,
  readCoverage,
  readNotHeldYet,
  rulesIn,
  withTable,
} from './coverage.ts';

describe('the promises and the tests that hold them', () => {
  it('understands how titles name rows and numbers', () => {
    expect(decisionsIn('x (decision 5)')).toEqual(['R5']);
    expect(decisionsIn('x [decisions 2, 3 and 13–15]').join()).toBe('R2,R3,R13,R14,R15');
    expect(contractRowsIn('x (contract "URL requirements" 2, decision 32)')).toEqual(['R161']);
    expect(contractRowsIn('x (contract, POST /developers/sms, rules 1–2; Limits: Burst)')).toEqual([
      'R96',
      'R97',
      'R180',
    ]);
    expect(contractRowsIn('x [contract, Versioning]')).toHaveLength(4);
    expect(contractRowsIn('x [contract, Limits: of nothing]')).toEqual([]);
    expect(contractRowsIn('x [contract, Limits: SMS message; contract, Errors: 429]')).toEqual([
      'R184',
      'R176',
    ]);
    expect(contractRowsIn('x [contract, SMS message metadata: smsCount]')).toEqual(['R56']);
    expect(contractRowsIn('x [contract, GET /developers/sms/history]')).toEqual(['R102']);
  });

  it('understands numbers of rules', () => {
    expect(rulesIn('x [R2, R13–R15]')).toEqual(['R2', 'R13', 'R14', 'R15']);
  });

  it('numbers the rules from the first on without a gap', () => {
    expect(ROWS).toEqual(ROWS.map((_, index) => `R${index + 1}`));
  });

  it('holds every rule by a named test', async () => {
    const coverage = await readCoverage();
    const missing = ROWS.filter((row) => coverage.get(row)?.length === 0);
    const allowed = await readNotHeldYet();
    expect(missing.filter((row) => !allowed.includes(row))).toEqual([]);
  });

  it('lists as not held yet only what is not', async () => {
    const coverage = await readCoverage();
    expect((await readNotHeldYet()).filter((row) => coverage.get(row)?.length !== 0)).toEqual([]);
  });

  it('is written in docs/rules.md (`npm run rules` writes it)', async () => {
    const rules = await readFile(RULES, 'utf8');
    expect(rules).toBe(withTable(rules, await readCoverage()));
  });
});
