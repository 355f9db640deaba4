/**
 * A process that uses the embedded PostgreSQL, for tests that kill it: `node THIS_FILE DATA_DIR`. It prints a line of
 * JSON when it is connected, and each time it becomes the owner. It stops when it reads a line on stdin. When stdin
 * ends (the test has ended), it exits without stopping the server.
 */
import { createInterface } from 'node:readline';
import type { Logger } from '../../src/domain/ports/logger.ts';
import { startEmbeddedPostgres } from '../../src/storage/embedded-postgres/embedded-postgres.ts';

const [dataDir] = process.argv.slice(2);
if (!dataDir) throw new Error('usage: embedded-postgres-process.ts DATA_DIR');

const silent = () => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, child: () => logger };
const postgres = await startEmbeddedPostgres({
  dataDir,
  database: 'gateway',
  logger,
  settings: { fsync: 'off' },
});
let owned: boolean | undefined;
setInterval(() => {
  if (owned === postgres.owned) return;
  owned = postgres.owned;
  console.log(JSON.stringify({ owned, connection: postgres.connection }));
}, 10);

const lines = createInterface({ input: process.stdin });
lines.once('line', async () => {
  await postgres.stop();
  process.exit(0);
});
lines.once('close', () => process.exit(1));
