import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startPostgresVersion, type TestPostgres } from './postgres-versions.ts';

/** Starts a hot standby: a copy of a server's files that refuses writes. Its primary is not running any more. */
export async function startStandby(version?: number): Promise<TestPostgres> {
  const primary = await startPostgresVersion(version);
  await primary.halt();
  try {
    return await startPostgresVersion(version, {
      prepare: async (cluster) => {
        await promisify(execFile)('cp', ['-a', primary.cluster, cluster]);
        await writeFile(join(cluster, 'standby.signal'), '');
      },
    });
  } finally {
    await primary.stop();
  }
}
