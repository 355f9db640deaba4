import { writeFile } from 'node:fs/promises';
import { NOT_HELD_YET, README, readCoverage, readmeOf, readNotHeldYet } from './coverage.ts';

const coverage = await readCoverage();
const stillMissing = (await readNotHeldYet()).filter((row) => coverage.get(row)?.length === 0);
await writeFile(NOT_HELD_YET, `${JSON.stringify(stillMissing, null, 2)}\n`);
await writeFile(README, readmeOf(coverage));
