import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { Operations } from '../../src/domain/operations.ts';
import type { Stores } from '../../src/domain/ports/stores.ts';
import type { SecretBox } from '../../src/domain/ports/system.ts';
import {
  type Chunk,
  fillCounts,
  fillOthers,
  PRICE_MINOR,
  TOP_UP_MINOR,
  writeConsequences,
  writeMessages,
} from './dataset-rows.ts';

/** An account as after a year of use, and the values that its lists are filtered by. */
export interface Dataset {
  readonly accountId: string;
  /** An API key with FULL_ACCESS. */
  readonly key: string;
  /** The account's owner. Tests sign in as this person. */
  readonly owner: { readonly email: string; readonly password: string };
  readonly messages: number;
  /** An API key that sent only few of the messages. */
  readonly rareKeyId: string;
  /** Two endpoints. The first has a delivery for each message of the last hours, the second has few deliveries. */
  readonly webhookIds: readonly [string, string];
  /** A message that has events and deliveries. */
  readonly messageId: string;
  readonly from: Date;
  readonly to: Date;
}

const SYSTEM = { kind: 'system', name: 'bench' } as const;
const CHUNK = 100_000;
const YEAR_MS = 365 * 24 * 3_600_000;

/**
 * Fills a migrated database with `count` finished messages of one account. Half of them are spread over a year, half
 * over the last five hours. The last half has events and deliveries. There are a twentieth as many contacts, devices
 * and audit entries, and other accounts. For each filter, a few rows have a rare value. Two connections insert in
 * parallel.
 */
export async function fillDatabase(
  {
    operations,
    secrets,
    stores,
  }: {
    readonly operations: Operations;
    readonly secrets: SecretBox;
    readonly stores: Pick<Stores, 'analytics'>;
  },
  connection: pg.ClientConfig,
  count: number,
  log: (line: string) => void,
): Promise<Dataset> {
  const create = (email: string) => operations.accounts.create.run(SYSTEM, { email, currency: 'UGX' });
  const { account, owner } = await create('large@bench.example');
  const other = await create('other@bench.example');
  const accountId = account.id;
  const createKey = (name: string) => {
    const input = { accountId, name, scopes: ['FULL_ACCESS'], environment: 'production' };
    return operations.apiKeys.create.run(SYSTEM, input);
  };
  const main = await createKey('main');
  const rareKeyId = (await createKey('rare')).apiKey.keyId;
  const webhookIds = [randomUUID(), randomUUID()] as const;
  const now = new Date();
  await using first = await open(connection);
  await using second = await open(connection);

  // An index on random values is built faster at the end than with each insert. Drop such indexes for now.
  const { rows: indexes } = await first.run(
    `SELECT indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'recipients_%' AND indexdef NOT LIKE '%UNIQUE%'`,
  );
  for (const { indexname } of indexes) await first.run(`DROP INDEX ${indexname}`);
  await first.run(
    `INSERT INTO webhooks (id, account_id, url, events, max_retries, secret_sealed, created_at)
     SELECT id, $1, 'http://127.0.0.1:1/', '{sms.sent}', 3, $4, $3 FROM unnest($2::uuid[]) AS w (id)`,
    [accountId, webhookIds, now, secrets.seal('whsec_of-the-bench')],
  );
  const inChunks = async (write: (chunk: Chunk) => Promise<void>) => {
    for (let from = 1; from <= count; from += CHUNK) {
      await write({ accountId, now, count, from, upTo: Math.min(count, from + CHUNK - 1) });
    }
  };
  await Promise.all([
    inChunks(async (chunk) => {
      await writeMessages(first.run, chunk, main.apiKey.keyId, rareKeyId);
      log(`${chunk.upTo} of ${count} messages written`);
    }),
    inChunks((chunk) => writeConsequences(second.run, chunk, webhookIds)).then(() =>
      fillOthers(second.run, accountId, other.account.id, count, now),
    ),
  ]);
  log('indexes and counts');
  await first.run(
    'UPDATE accounts SET sms_seq = $2::bigint, ledger_seq = $2::bigint + 1, balance_minor = $3 WHERE id = $1',
    [accountId, count, TOP_UP_MINOR - PRICE_MINOR * count],
  );
  await first.run(
    `INSERT INTO ledger_entries (account_id, seq, kind, amount_minor, balance_after_minor, actor, created_at)
     VALUES ($1, 1, 'topup', $2, $2, 'system:bench', $3)`,
    [accountId, TOP_UP_MINOR, new Date(now.getTime() - YEAR_MS)],
  );
  await first.run('UPDATE event_feeds SET last_seq = $2 WHERE account_id = $1', [accountId, count]);
  const index = async () => {
    for (const { indexdef } of indexes) await first.run(indexdef);
  };
  await Promise.all([index(), fillCounts(second.run)]);
  log('figures');
  await stores.analytics.fold();
  log('vacuum');
  await first.run('VACUUM ANALYZE');
  const found = await first.run(
    'SELECT id FROM messages WHERE account_id = $1 AND channel = $2 AND seq = $3',
    [accountId, 'sms', count - 100],
  );
  return {
    accountId,
    key: main.key,
    owner: { email: owner.user.email, password: owner.password },
    messages: count,
    rareKeyId,
    webhookIds,
    messageId: found.rows[0].id,
    from: new Date(now.getTime() - YEAR_MS / 2),
    to: new Date(now.getTime() - YEAR_MS / 4),
  };
}

/** Opens a connection that does not check foreign keys and triggers. The rows are consistent, and checks take time. */
async function open(connection: pg.ClientConfig) {
  const client = new pg.Client(connection);
  await client.connect();
  const run = (text: string, values: unknown[] = []) => client.query(text, values);
  await run('SET session_replication_role = replica');
  await run('SET synchronous_commit = off');
  return { run, [Symbol.asyncDispose]: () => client.end() };
}
