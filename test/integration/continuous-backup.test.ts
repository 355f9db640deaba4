/** The write-ahead log that a continuous backup keeps beside its bases, and restores to a time. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { parseConfig } from '../../src/config/config.ts';
import { backUpContinuously } from '../../src/start/backup.ts';
import { restoreIntoDirectory } from '../../src/storage/backup/restore.ts';
import { databaseUrl, type ServerConnection, silentLogger, testVersion } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startPostgresVersion, type TestPostgres } from '../support/postgres-versions.ts';
import { severalHosts, startReplicas, startStandby } from '../support/replicas.ts';
import { query } from '../support/server-process.ts';

jest.setTimeout(240_000);

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  closings.push(() => rm(made, { recursive: true, force: true }));
  return made;
}

type Prepared = Pick<Parameters<typeof startPostgresVersion>[1] & object, 'prepare' | 'isFresh'>;

async function startServer(prepared: Prepared = {}): Promise<TestPostgres> {
  const server = await startPostgresVersion(testVersion(), {
    settings: { synchronous_commit: 'on', hot_standby: 'off' },
    ...prepared,
  });
  closings.push(() => server.stop());
  return server;
}

/** Starts a continuous backup. */
function backUp(url: string, to: string) {
  const stop = new AbortController();
  const bases: string[] = [];
  const faults: unknown[] = [];
  let kept = new Date(0);
  const done = backUpContinuously(
    parseConfig({ DATABASE_URL: url, DATA_DIR: to, MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }),
    silentLogger,
    {
      to,
      withKeys: false,
      isFast: true,
      baseEveryHours: 24,
      signal: stop.signal,
      onProgress: () => undefined,
      onBase: ({ file }) => bases.push(file),
      onKept: (until) => {
        kept = until;
      },
      onFault: (error) => faults.push(error),
    },
  );
  const end = async () => {
    stop.abort();
    await done;
  };
  closings.push(end);
  return { bases, faults, done, end, keeps: (at: Date) => eventually(() => kept >= at) };
}

async function addRow(connection: ServerConnection): Promise<Date> {
  const [row] = await query<{ at: Date }>(
    connection,
    'INSERT INTO kept (at) VALUES (clock_timestamp()) RETURNING at',
  );
  return row?.at ?? new Date(0);
}

/** The time of the server, between two commits. */
async function timeOf(connection: ServerConnection): Promise<Date> {
  const [row] = await query<{ at: Date }>(connection, 'SELECT clock_timestamp() AS at');
  return row?.at ?? new Date(0);
}

const nextSegment = (connection: ServerConnection) => query(connection, 'SELECT pg_switch_wal()');

/** Restores, and starts PostgreSQL there. */
async function restored(from: string, until: Date | undefined, like: TestPostgres): Promise<TestPostgres> {
  const laidOut = join(await directory(), 'cluster');
  await restoreIntoDirectory({ from, until, onProgress: () => undefined }, laidOut);
  return startServer({
    async prepare(cluster) {
      await rename(laidOut, cluster);
      await promisify(execFile)('chown', ['-R', `--reference=${like.cluster}`, cluster]);
    },
  });
}

/** Restores, starts PostgreSQL there and returns the number of rows. */
async function rowsIn(
  from: string,
  until: Date | undefined,
  like: TestPostgres,
): Promise<number | undefined> {
  const { connection } = await restored(from, until, like);
  const [row] = await query<{ rows: number }>(connection, 'SELECT count(*)::int AS rows FROM kept');
  return row?.rows;
}

describe('a continuous backup (R351)', () => {
  it('is restored to any time, also where the stream was cut off or the backup stopped for a while', async () => {
    const server = await startServer();
    const { connection } = server;
    await query(connection, 'CREATE TABLE kept (at timestamptz)');
    const to = await directory();
    const first = backUp(databaseUrl(connection), to);
    await eventually(() => first.bases.length === 1);
    for (let row = 0; row < 3; row += 1) await addRow(connection);
    const afterThree = await timeOf(connection);
    await nextSegment(connection);
    await addRow(connection);
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_replication`;
    await first.keeps(await timeOf(connection));
    expect(await query(connection, cut)).toHaveLength(1);
    await first.keeps(await addRow(connection));
    expect(first.faults.length).toBeGreaterThan(0);
    await first.end();
    await addRow(connection);
    const afterSix = await timeOf(connection);
    await nextSegment(connection);
    const second = backUp(databaseUrl(connection), to);
    await second.keeps(await addRow(connection));
    expect([second.bases, first.bases.length]).toEqual([[], 1]);
    await server.crash();
    await second.end();
    expect(await readdir(join(to, 'wal'))).toContainEqual(expect.stringMatching(/^[0-9A-F]{24}\.zst$/));
    expect(await rowsIn(to, afterThree, server)).toBe(3);
    expect(await rowsIn(to, afterSix, server)).toBe(6);
    expect(await rowsIn(to, undefined, server)).toBe(7);
  });

  it('leaves no target in the restored server, which a standby or a copy of it would take for its own (R573)', async () => {
    const first = await startServer();
    await query(first.connection, 'CREATE TABLE kept (at timestamptz)');
    const to = await directory();
    const backup = backUp(databaseUrl(first.connection), to);
    await eventually(() => backup.bases.length === 1);
    await addRow(first.connection);
    const until = await timeOf(first.connection);
    await backup.keeps(await addRow(first.connection));
    await backup.end();
    const second = await restored(to, until, first);
    const settings = await readFile(join(second.cluster, 'postgresql.auto.conf'), 'utf8');
    expect(settings).toContain('gateway.restored_as = ');
    expect(settings).not.toMatch(/recovery_|restore_command/);

    const standby = await startStandby(second, testVersion());
    closings.push(() => standby.stop());
    await addRow(second.connection);
    const replayed = () =>
      query<{ rows: number; isStandby: boolean }>(
        standby.connection,
        'SELECT count(*)::int AS rows, pg_is_in_recovery() AS "isStandby" FROM kept',
      );
    await eventually(async () => (await replayed())[0]?.rows === 2);
    expect(await replayed()).toEqual([{ rows: 2, isStandby: true }]);

    // As other tools leave it there.
    await query(
      second.connection,
      `ALTER SYSTEM SET recovery_target_time = '${until.toISOString().replace('T', ' ')}'`,
    );
    const copies = await directory();
    const copy = backUp(databaseUrl(second.connection), copies);
    await eventually(() => copy.bases.length === 1);
    await copy.end();
    expect(await rowsIn(copy.bases[0] ?? '', undefined, second)).toBe(2);
  });

  it('takes a new base where the server no longer has a part of the log', async () => {
    const server = await startServer();
    const { connection } = server;
    await query(connection, 'CREATE TABLE kept (at timestamptz)');
    const to = await directory();
    const first = backUp(databaseUrl(connection), to);
    await eventually(() => first.bases.length === 1);
    await first.end();
    for (let segment = 0; segment < 3; segment += 1) {
      await addRow(connection);
      await nextSegment(connection);
    }
    await query(connection, 'CHECKPOINT');
    await query(connection, 'CHECKPOINT');
    const second = backUp(databaseUrl(connection), to);
    await eventually(() => second.bases.length === 1);
    expect(second.faults).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/already been removed/) }),
    );
    await second.keeps(await addRow(connection));
    await second.end();
    expect(await rowsIn(to, undefined, server)).toBe(4);
  });

  it('goes on over a promotion', async () => {
    const { primary, standby, promote, stop } = await startReplicas();
    closings.push(stop);
    await query(primary.connection, 'CREATE TABLE kept (at timestamptz)');
    const to = await directory();
    const urls = [primary, standby].map(({ connection }) => databaseUrl(connection));
    const backup = backUp(severalHosts(urls), to);
    await eventually(() => backup.bases.length === 1);
    await backup.keeps(await addRow(primary.connection));
    await primary.crash();
    await promote();
    const added = await eventually(() => addRow(standby.connection));
    await backup.keeps(added);
    await backup.end();
    expect(backup.bases).toHaveLength(1);
    expect(await readdir(join(to, 'wal'))).toContain('00000002.history');
    expect(await rowsIn(to, undefined, standby)).toBe(2);
  });

  it('keeps the logs of two databases apart', async () => {
    const to = await directory();
    const [one, other] = [await startServer(), await startServer({ isFresh: true })];
    const backup = backUp(databaseUrl(one.connection), to);
    await eventually(() => backup.bases.length === 1);
    await backup.end();
    closings.pop();
    const refused = backUp(databaseUrl(other.connection), to);
    closings.pop();
    await expect(refused.done).rejects.toThrow(/holds the log of another database/);
  });
});
