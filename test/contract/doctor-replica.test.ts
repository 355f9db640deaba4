import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { runCliHere } from '../support/cli.ts';
import { createTestDatabase, databaseUrl } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Replicas, startReplicas } from '../support/replicas.ts';
import { query } from '../support/server-process.ts';

jest.setTimeout(240_000);

describe('doctor with DATABASE_READ_URL (R586)', () => {
  let replicas: Replicas;
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
    replicas = await startReplicas({ isSynchronous: false });
  });
  afterAll(async () => {
    await replicas?.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  const onPrimary = (text: string) => query(replicas.primary.connection, text);
  const onStandby = (text: string) => query(replicas.standby.connection, text);
  const standbyUrl = () => databaseUrl(replicas.standby.connection);

  /** Returns the row of the replica, and whether that of the primary is right. */
  async function look(readUrl = standbyUrl()) {
    const { code, stdout } = await runCliHere(['doctor', '--json'], {
      DATABASE_URL: databaseUrl(replicas.primary.connection),
      DATABASE_READ_URL: readUrl,
      DATA_DIR: dataDir,
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    });
    const { checks } = JSON.parse(stdout) as { checks: { check: string; ok: boolean; detail: string }[] };
    const [replica] = checks.filter(({ check }) => check === 'replica');
    expect(checks[1]).toBe(replica);
    expect(code).toBe(replica?.ok ? 0 : 1);
    return { primary: checks[0]?.ok, ok: replica?.ok, detail: replica?.detail };
  }
  const fault = (detail: RegExp) => ({ primary: true, ok: false, detail: expect.stringMatching(detail) });

  it('has a row for a standby that follows the primary', async () => {
    expect(await look()).toEqual({
      primary: true,
      ok: true,
      detail: expect.stringMatching(
        /^PostgreSQL \S+, a standby of the primary, \d+ bytes( and \d+\.\d s)? behind/,
      ),
    });
  });

  it('says if the server is no standby of this primary', async () => {
    expect(await look(databaseUrl(replicas.primary.connection))).toEqual(
      fault(/ is not a standby: .* Name a standby of the primary, or remove DATABASE_READ_URL$/),
    );
    const other = await createTestDatabase();
    try {
      expect(await look(other.url)).toEqual(fault(/ has another database than DATABASE_URL: name a standby/));
    } finally {
      await other.drop();
    }
  });

  it('says which role the user lacks', async () => {
    await onPrimary('CREATE ROLE reads_lists LOGIN');
    const [end] = await query<{ lsn: string }>(
      replicas.primary.connection,
      'SELECT pg_current_wal_flush_lsn()::text AS lsn',
    );
    await eventually(
      async () => (await onStandby(`SELECT WHERE pg_last_wal_replay_lsn() >= '${end?.lsn}'`)).length > 0,
    );
    const url = databaseUrl({ ...replicas.standby.connection, user: 'reads_lists' });
    expect(await look(url)).toEqual(fault(/: GRANT pg_read_all_stats TO reads_lists$/));
    await onPrimary('GRANT pg_read_all_stats TO reads_lists');
    await eventually(async () => (await look(url)).ok);
  });

  it('says how far behind a standby is that does not catch up, and why', async () => {
    await onStandby('SELECT pg_wal_replay_pause()');
    await onPrimary('CREATE TABLE late ()');
    expect(await look()).toEqual(
      fault(/ replay is paused, [1-9]\d* bytes and \d+\.\d s behind: run SELECT pg_wal_replay_resume\(\)$/),
    );
    await onStandby(`ALTER SYSTEM SET recovery_min_apply_delay = '1h'`);
    await onStandby('SELECT pg_reload_conf()');
    await onStandby('SELECT pg_wal_replay_resume()');
    expect(await look()).toEqual(
      fault(/ a standby that is [1-9]\d* bytes and \d+\.\d s behind the primary and does not catch up: /),
    );
    await onStandby('ALTER SYSTEM RESET recovery_min_apply_delay');
    await onStandby('SELECT pg_reload_conf()');
    await eventually(async () => (await look()).ok);
  });

  it('says why a replica cannot be reached, or its address not be used', async () => {
    expect(await look('postgres://reader:hunter2@127.0.0.1:1/gateway')).toEqual(
      fault(
        /^it cannot be reached: .*127\.0\.0\.1:1\. Check DATABASE_READ_URL, and whether the standby runs/,
      ),
    );
    expect(await look(`${standbyUrl()}?port=x`)).toMatchObject({
      primary: false,
      ok: false,
      detail: expect.stringMatching(/^DATABASE_READ_URL cannot be used: /),
    });
  });
});
