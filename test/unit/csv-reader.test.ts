import { describe, expect, it } from '@jest/globals';
import { csvReader } from '../../src/csv/csv-reader.ts';
import type { CsvRow } from '../../src/domain/ports/csv-reader.ts';

async function read(csv: string): Promise<CsvRow[]> {
  const rows: CsvRow[] = [];
  for await (const row of csvReader.rows(csv)) rows.push(row);
  return rows;
}

describe('rows with more or fewer columns than the first', () => {
  it('are read as they are, with the line where each begins', async () => {
    expect(await read('phone,name\n\n0700000001\n"a\nb",c,d\n,,,\ne,f\n')).toEqual([
      { line: 1, cells: ['phone', 'name'] },
      { line: 3, cells: ['0700000001'] },
      { line: 4, cells: ['a\nb', 'c', 'd'] },
      { line: 7, cells: ['e', 'f'] },
    ]);
  });

  it.each([
    ['narrow', 'a\n'],
    ['empty', ' \n'],
    ['wide', 'a,a,a\n'],
  ])('cost at most ten times as much as others when they are %s', async (_what, row) => {
    const csv = (text: string) => `a,b\n${text.repeat(90_000)}`;
    const cpuOf = async (text: string) => {
      const before = process.cpuUsage();
      await read(csv(text));
      return process.cpuUsage(before).user;
    };
    await cpuOf('a,b\n');
    const usual = await cpuOf('a,b\n');
    let least = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 5 && least > 10 * usual; tries += 1)
      least = Math.min(least, await cpuOf(row));
    expect(least).toBeLessThan(10 * usual);
  });

  it('are refused after 100,000 empty ones', async () => {
    await expect(read(`phone\n${'\n'.repeat(100_001)}`)).rejects.toMatchObject({
      code: 'validation_error',
      message: 'csv: has more than 100000 empty rows; take them out',
    });
  });
});
