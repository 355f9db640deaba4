/** Starts the other cell of the tests of the contract behind HAProxy (cell-proxy.ts), beside what all tests need. */
import { createTestDatabase } from './database.ts';
import globalSetup from './global-setup.ts';
import { buildWorkplace, startServer } from './server-process.ts';

export default async function globalSetupCells(): Promise<void> {
  await globalSetup();
  const database = await createTestDatabase();
  const workplace = await buildWorkplace();
  const other = startServer(workplace, {
    DATABASE_URL: database.url,
    DATA_DIR: await workplace.directory('other-cell'),
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    // All tests share this cell, and requests with keys that do not exist count for their address.
    RATE_LIMIT_PER_MINUTE: '100000',
  });
  const stop = async () => {
    await other.stop();
    await workplace.remove();
    await database.drop();
  };
  globalThis.stopTestRun = [stop, ...(globalThis.stopTestRun ?? [])];
  process.env.TEST_OTHER_CELL = await other.ready();
}
