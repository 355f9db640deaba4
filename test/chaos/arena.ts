/**
 * The starting state of all runs: a built gateway, and a PostgreSQL with a funded account. It is made once, and each
 * run gets a copy.
 */
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { databaseUrl } from '../support/database.ts';
import { startPostgresVersion } from '../support/postgres-versions.ts';
import {
  buildWorkplace,
  quickstartOf,
  runCli,
  type ServerProcess,
  startServer,
  type Workplace,
} from '../support/server-process.ts';

export const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
export const DATABASE = 'gateway_test';

export interface Arena {
  readonly workplace: Workplace;
  /** A data directory of PostgreSQL that each run copies. */
  readonly cluster: string;
  readonly key: string;
  readonly accountId: string;
  remove(): Promise<void>;
}

export async function openArena(): Promise<Arena> {
  const workplace = await buildWorkplace();
  const postgres = await startPostgresVersion();
  const variables = {
    DATABASE_URL: databaseUrl({ ...postgres.connection, database: DATABASE }),
    DATA_DIR: await workplace.directory('first'),
    MASTER_KEY,
  };
  const gateway = startServer(workplace, { ...variables, LOG_LEVEL: 'warn' });
  const { key, accountId } = await topUpAccount(workplace, gateway, variables).finally(async () => {
    await gateway.stop();
    await postgres.halt();
  });
  return {
    workplace,
    cluster: postgres.cluster,
    key,
    accountId,
    async remove() {
      for (const left of [dirname(postgres.cluster), postgres.connection.host])
        await rm(left, { recursive: true, force: true });
      await workplace.remove();
    },
  };
}

/** Adds money to the account that the first start created. */
async function topUpAccount(
  workplace: Workplace,
  gateway: ServerProcess,
  variables: Readonly<Record<string, string>>,
) {
  await gateway.ready();
  const account = quickstartOf(gateway.stdout());
  const args = ['account', 'topup', '--account', account.accountId, '--amount', '10000000'];
  const topUp = await runCli(workplace, args, variables);
  if (topUp.code !== 0) throw new Error(`the account could not be topped up: ${topUp.stderr}`);
  return account;
}
