import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { takeBaseBackup } from '../../src/storage/backup/base-backup.ts';
import { restoreIntoDirectory } from '../../src/storage/backup/restore.ts';
import { readTar, tarFile } from '../../src/storage/backup/tar.ts';
import { testVersion } from '../support/database.ts';
import { startPostgresVersion } from '../support/postgres-versions.ts';
import { query } from '../support/server-process.ts';

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

async function directory(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  closings.push(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function startServer(prepare?: (cluster: string) => Promise<void>) {
  const server = await startPostgresVersion(testVersion(), {
    // Without hot standby, the server is ready only when it has applied the whole WAL.
    settings: { synchronous_commit: 'on', hot_standby: 'off' },
    ...(prepare && { prepare }),
  });
  closings.push(() => server.stop());
  return server;
}

describe('a PostgreSQL of one’s own (R255)', () => {
  it('is copied over the network protocol, and comes back marked as restored', async () => {
    const first = await startServer();
    await query(first.connection, 'CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n');
    const progress: { readonly done: number; readonly expected: number }[] = [];
    const made = await takeBaseBackup({
      connection: first.connection,
      to: join(await directory(), 'copy.tar.zst'),
      embeddedOn: null,
      isFast: true,
      masterKey: 'name',
      keys: {},
      onProgress: (done, expected) => progress.push({ done, expected }),
    });
    const sizes = progress.map(({ done }) => done);
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
    // The server says before the copy how much it expects. The archive's headers and its log come on top.
    expect(progress[0]?.expected).toBeGreaterThan(sizes[0] ?? 0);
    expect(sizes.at(-1)).toBeGreaterThanOrEqual(progress[0]?.expected ?? Number.POSITIVE_INFINITY);
    expect(made).toMatchObject({ format: 1, timeline: 1, embeddedOn: null, database: 'gateway_test' });
    const laidOut = join(await directory(), 'cluster');
    await restoreIntoDirectory({ from: made.file, until: undefined, onProgress: () => undefined }, laidOut);
    expect(await readFile(join(laidOut, 'postgresql.auto.conf'), 'utf8')).toContain('gateway.restored_as = ');
    const second = await startServer(async (cluster) => {
      await rename(laidOut, cluster);
      await promisify(execFile)('chown', ['-R', `--reference=${first.cluster}`, cluster]);
    });
    const [row] = await query<{ rows: number; mark: string; system: string; timeline: string }>(
      second.connection,
      `SELECT (SELECT count(*)::int FROM kept) AS rows, current_setting('gateway.restored_as') AS mark,
         system_identifier::text AS system, left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline
       FROM pg_control_system()`,
    );
    expect(row).toEqual({
      rows: 1000,
      mark: expect.stringMatching(/^[0-9a-f-]{36}$/),
      system: made.systemIdentifier,
      timeline: '00000002',
    });
  });

  it('is refused a place that is taken', async () => {
    const { connection } = await startServer();
    const to = join(await directory(), 'copy.tar.zst');
    const request = {
      connection,
      to,
      embeddedOn: null,
      isFast: true,
      masterKey: '',
      keys: {},
      onProgress: () => undefined,
    };
    await takeBaseBackup(request);
    await expect(takeBaseBackup(request)).rejects.toThrow(/copy\.tar\.zst is there already/);
    const target = await directory();
    await expect(
      restoreIntoDirectory({ from: to, until: undefined, onProgress: () => undefined }, join(target, '..')),
    ).rejects.toThrow(/is in use/);
  });

  it('says what a user lacks who may not copy', async () => {
    const { connection } = await startServer();
    await query(connection, 'CREATE ROLE plain LOGIN');
    const to = await directory();
    const request = {
      connection: { ...connection, user: 'plain' },
      to,
      embeddedOn: null,
      isFast: true,
      masterKey: '',
      keys: {},
      onProgress: () => undefined,
    };
    await expect(takeBaseBackup(request)).rejects.toThrow(
      /may not copy the database\. Give it the attribute REPLICATION/,
    );
  });
});

describe('the tar format', () => {
  async function read(pieces: readonly Buffer[]) {
    const found: [string, string][] = [];
    for await (const entry of readTar(
      (async function* () {
        yield* pieces;
      })(),
    )) {
      const content: Buffer[] = [];
      for await (const piece of entry.body()) content.push(Buffer.from(piece));
      found.push([entry.name, Buffer.concat(content).toString()]);
    }
    return found;
  }

  it('is read as it was written, however the pieces come', async () => {
    const files: [string, string][] = [
      ['empty', ''],
      ['a/b', 'x'.repeat(511)],
      ['block', 'y'.repeat(512)],
      ['more', 'z'.repeat(513)],
    ];
    const archive = Buffer.concat([
      ...files.map(([name, text]) => tarFile(name, Buffer.from(text), new Date(0))),
      Buffer.alloc(1024),
    ]);
    for (const size of [1, 100, 512, 10_000]) {
      const pieces = Array.from({ length: Math.ceil(archive.length / size) }, (_, index) =>
        archive.subarray(index * size, (index + 1) * size),
      );
      expect(await read(pieces)).toEqual(files);
    }
  });

  it('is known to be cut off or damaged', async () => {
    const archive = tarFile('a', Buffer.from('content'), new Date(0));
    await expect(read([archive.subarray(0, 600)])).rejects.toThrow(/cut off/);
    archive[0] = 'b'.charCodeAt(0);
    await expect(read([archive])).rejects.toThrow(/wrong checksum/);
  });
});
