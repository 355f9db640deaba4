import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { RULE_NUMBERS, RULES, readCoverage, rulesIn, withTable } from './coverage.ts';

describe('docs/rules.md', () => {
  it('a title names single rules and ranges of rules', () => {
    expect(rulesIn('x (R2, R13–R15)')).toEqual(['R2', 'R13', 'R14', 'R15']);
  });

  it('each rule has a number of its own', () => {
    expect(RULE_NUMBERS).toEqual([...new Set(RULE_NUMBERS)]);
  });

  it('every rule has a test whose title names it', async () => {
    const coverage = await readCoverage();
    expect(RULE_NUMBERS.filter((id) => coverage.get(id)?.length === 0)).toEqual([]);
  });

  it('the table in docs/rules.md is current (`npm run rules` writes it)', async () => {
    const rules = await readFile(RULES, 'utf8');
    expect(rules).toBe(withTable(rules, await readCoverage()));
  });
});
