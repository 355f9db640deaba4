import pg from 'pg';
import { dropFence, raiseFence } from '../../src/storage/cells/fence.ts';
import type { TestDatabase } from './database.ts';

/** Fences an account as its move to another cell does, until the result is disposed of. */
export async function fenceAccount(
  { connection }: TestDatabase,
  accountId: string,
): Promise<AsyncDisposable> {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query("UPDATE accounts SET moving = 'closed' WHERE id = $1", [accountId]);
  await raiseFence(client, accountId);
  return {
    async [Symbol.asyncDispose]() {
      await dropFence(client, accountId);
      await client.query('UPDATE accounts SET moving = NULL WHERE id = $1', [accountId]);
      await client.end();
    },
  };
}
