import { writeFile } from 'node:fs/promises';
import { README, readCoverage, readmeOf } from './coverage.ts';

await writeFile(README, readmeOf(await readCoverage()));
