/** Run by `npm run rules`. Writes the table at the end of docs/rules.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { RULES, readCoverage, withTable } from './coverage.ts';

await writeFile(RULES, withTable(await readFile(RULES, 'utf8'), await readCoverage()));
