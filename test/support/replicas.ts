/** A PostgreSQL server and standbys of it. All are separate processes. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { takeBaseBackup } from '../../src/storage/backup/base-backup.ts';
import { unpackBase } from '../../src/storage/backup/unpack.ts';
import { eventually } from './eventually.ts';
import { startPostgresVersion, type TestPostgres } from './postgres-versions.ts';
import { query } from './server-process.ts';

export interface Replicas {
  readonly primary: TestPostgres;
  readonly standby: TestPostgres;
  /** Makes the standby the primary, without waiting for the former primary. */
  promote(): Promise<void>;
  stop(): Promise<void>;
}

const SETTINGS = { synchronous_commit: 'on' };

/** Starts a standby of `primary`, which has the major version `version`. Default: the packaged version. */
export function startStandby(primary: TestPostgres, version?: number): Promise<TestPostgres> {
  const { host, port, user } = primary.connection;
  const from = `host=${host} port=${port} user=${user} application_name=standby`;
  return startPostgresVersion(version, {
    settings: { ...SETTINGS, primary_conninfo: from, wal_receiver_status_interval: '1s' },
    prepare: (cluster) => copyServer(primary, cluster),
  });
}

/**
 * Starts a primary and a standby. With `isSynchronous`, the primary confirms a commit only when the standby has it on
 * its disk. `cluster` is the data directory of a stopped server, which the primary copies.
 */
export async function startReplicas({
  isSynchronous = true,
  cluster,
}: {
  readonly isSynchronous?: boolean;
  readonly cluster?: string;
} = {}): Promise<Replicas> {
  const primary = await startPostgresVersion(undefined, {
    settings: SETTINGS,
    ...(cluster !== undefined && {
      prepare: async (copy) => void (await promisify(execFile)('cp', ['-a', cluster, copy])),
    }),
  });
  const standby = await startStandby(primary);
  if (isSynchronous)
    await query(primary.connection, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
  await query(primary.connection, 'SELECT pg_reload_conf()');
  const wanted = isSynchronous ? 'sync' : 'async';
  await eventually(async () => {
    const [replica] = await query<{ state: string }>(
      primary.connection,
      'SELECT sync_state AS state FROM pg_stat_replication',
    );
    return replica?.state === wanted;
  });
  return {
    primary,
    standby,
    promote: async () => void (await query(standby.connection, 'SELECT pg_promote(wait => false)')),
    stop: async () => {
      await standby.stop();
      await primary.stop();
    },
  };
}

/** Copies the data directory of a running server to `cluster`, so that it starts as a standby. */
async function copyServer({ connection, cluster: original }: TestPostgres, cluster: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  try {
    const { file } = await takeBaseBackup({
      connection,
      to: directory,
      embeddedOn: null,
      isFast: true,
      masterKey: '',
      keys: {},
      onProgress: () => undefined,
    });
    await unpackBase(file, { directory: cluster, onProgress: () => undefined });
    await writeFile(join(cluster, 'standby.signal'), '');
    await promisify(execFile)('chmod', ['-R', 'go-rwx', cluster]);
    await promisify(execFile)('chown', ['-R', `--reference=${original}`, cluster]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Returns one URL that names several servers of the same database. */
export function severalHosts(urls: readonly string[]): string {
  const [first = ''] = urls;
  const hosts = urls.map((url) => /@([^/]*)\//.exec(url)?.[1]);
  return `${first.replace(/@[^/]*\//, `@${hosts.join(',')}/`)}?target_session_attrs=read-write`;
}
