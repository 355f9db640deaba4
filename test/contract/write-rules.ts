import { readFile, writeFile } from 'node:fs/promises';
import { NOT_HELD_YET, RULES, readCoverage, readNotHeldYet, withTable } from './coverage.ts';

const coverage = await readCoverage();
const stillMissing = (await readNotHeldYet()).filter((row) => coverage.get(row)?.length === 0);
await writeFile(NOT_HELD_YET, `${JSON.stringify(stillMissing, null, 2)}\n`);
await writeFile(RULES, withTable(await readFile(RULES, 'utf8'), coverage));
