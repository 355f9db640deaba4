import { describe, expect, it } from '@jest/globals';
import { previewOf } from '../../src/console/pages/contacts/csv-preview.ts';
import { csvReader } from '../../src/csv/csv-reader.ts';
import { DomainError } from '../../src/domain/errors.ts';

/** Returns the gateway's result for a CSV text: the rows up to the first error, and that error. */
async function readByGateway(csv: string): Promise<{ rows: string[][]; fault: string | null }> {
  const rows: string[][] = [];
  try {
    for await (const { cells } of csvReader.rows(csv)) rows.push([...cells]);
    return { rows, fault: null };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { rows, fault: error.message.replace(/^csv: /, '') };
  }
}

describe('the preview of an import', () => {
  it.each([
    ['commas', 'name,phone\nAmina,1\nBen,2\n'],
    ['semicolons, a byte order mark and CRLF', '\uFEFFname;phone\r\nAmina;1\r\n'],
    ['tabs with empty cells', 'name\tphone\temail\nAmina\t\tx\n\t1\t\n'],
    ['delimiters inside of a quoted header', '"name;of;all",phone\nAmina,1\n'],
    ['an empty cell at the end of a row', 'name,phone,email\nAmina,1,\nBen,2,x\n'],
    ['spaces around quotes', 'name,phone\n "A, B" , "1"\n'],
    ['quotes inside of cells', 'name,phone\nthe "A" shop,1\n"the ""B"" shop",2\n'],
    ['cells of several lines', 'name,phone\n"one\ntwo",1\n'],
    ['a quote that is not closed', 'name,phone\nAmina,1\n"Ben,2\nCara,3\n'],
    ['text after a quote', 'name,phone\nAmina,1\n"Ben" the second,2\n'],
  ])('parses %s like the gateway', async (_, csv) => {
    const { rows, fault } = await readByGateway(csv);
    const preview = previewOf(csv);
    expect(preview?.fault).toBe(fault);
    if (fault !== null) return;
    const [header = [], ...below] = rows;
    const examples = header.map((_name, index) => below.map((row) => row[index] ?? '').filter(Boolean));
    expect(preview?.columns.map((column) => column.header)).toEqual(header);
    expect(preview?.columns.map((column) => column.examples)).toEqual(examples);
  });

  it('treats a quote at the end of the preview as closed', () => {
    const csv = `name,phone\nAmina,1\n"${'x'.repeat(70_000)}",2\n`;
    expect(previewOf(csv)?.fault).toBeNull();
  });

  it('finds the delimiter below leading empty lines', async () => {
    const csv = '\uFEFF\r\n \n\tname\tphone\n\tAmina\t1\n';
    for (const text of ['\nname;phone\nAmina;1\n', '\n\nname\tphone\nAmina\t1\n']) {
      expect((await readByGateway(text)).rows[0]).toEqual(['name', 'phone']);
      expect(previewOf(text)?.columns.map(({ header }) => header)).toEqual(['name', 'phone']);
    }
    expect((await readByGateway(csv)).rows[0]).toEqual(['', 'name', 'phone']);
  });

  it("reports that Excel's `sep=` line names no columns", async () => {
    const csv = 'sep=;\nname;phone\nAmina;1\n';
    expect((await readByGateway(csv)).rows[0]).toEqual(['sep=', '']);
    expect(previewOf(csv)).toEqual({ columns: [], fault: 'line 1: column 2 has no header' });
  });
});
