import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  access,
  chmod,
  chown,
  copyFile,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { Logger } from '../../src/domain/ports/logger.ts';
import { packagedBinaries, usableBinaries } from '../../src/storage/embedded-postgres/binaries.ts';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/storage/embedded-postgres/embedded-postgres.ts';
import { OwnerLock } from '../../src/storage/embedded-postgres/owner-lock.ts';
import { isLivePostmaster, readPostmasterFile } from '../../src/storage/embedded-postgres/postmaster-file.ts';
import { canEnter, chooseServerUser } from '../../src/storage/embedded-postgres/server-user.ts';
import { eventually } from '../support/eventually.ts';

type Connection = EmbeddedPostgres['connection'];

const SCRIPT = join(import.meta.dirname, '../support/embedded-postgres-process.ts');
const NOBODY = 65_534;
const SETPRIV = '/usr/bin/setpriv';
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? it : it.skip;

const silent = () => undefined;
const logger: Logger = { debug: silent, info: silent, warn: silent, error: silent, child: () => logger };

let directory: string;
let dataDir: string;
let cleanups: (() => unknown)[];
/** The directory of a ready cluster, which tests copy. Creating a cluster takes most of a first start. */
let template: string;

beforeAll(async () => {
  template = await mkdtemp(join(tmpdir(), 'gateway-template-'));
  await chmod(template, 0o755);
  const postgres = await startEmbeddedPostgres({
    dataDir: template,
    database: 'gateway',
    logger,
    settings: { fsync: 'off' },
  });
  await postgres.stop();
  await rm(postgres.connection.host, { recursive: true });
});

afterAll(() => rm(template, { recursive: true, force: true }));

/** Gives the test a cluster that exists already, so that its start is not the first one. */
async function copyCluster(): Promise<void> {
  await mkdir(dataDir);
  await promisify(execFile)('cp', ['-a', join(template, 'postgres'), dataDir]);
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gateway-embedded-'));
  // If root runs the tests, another user runs the server. That user must be able to enter the directory.
  await chmod(directory, 0o755);
  dataDir = join(directory, 'data');
  cleanups = [() => rm(directory, { recursive: true, force: true }), serverIsGone];
});

/** Waits until the server is down. After all apps were killed, the watchdog of the last owner stops the server. */
async function serverIsGone(): Promise<void> {
  const pid = (await readPostmasterFile(cluster()).catch(silent))?.pid;
  if (pid) await eventually(() => isDown(pid));
}

afterEach(async () => {
  // A cleanup may add another one to the front of the list.
  for (let cleanup = cleanups.pop(); cleanup; cleanup = cleanups.pop()) await cleanup();
});

async function start(
  settings: Record<string, string> = {},
  database = 'gateway',
  where = dataDir,
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({
    dataDir: where,
    database,
    logger,
    settings: { fsync: 'off', ...settings },
  });
  cleanups.push(async () => {
    await postgres.stop();
    await rm(postgres.connection.host, { recursive: true, force: true });
  });
  return postgres;
}

async function query(connection: Connection, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client(connection);
  client.on('error', silent);
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end().catch(silent);
  }
}

const answers = (connection: Connection) =>
  eventually(() =>
    query(connection, 'SELECT 1').then(
      () => true,
      () => false,
    ),
  );

const cluster = () => join(dataDir, 'postgres');
const postmasterPid = () => eventually(async () => (await readPostmasterFile(cluster()))?.pid);
const isDown = async (pid: number) => !(await isLivePostmaster(pid, cluster()));

interface Report {
  owned: boolean;
  connection: Connection;
}

/** Starts an app in another process on the same data directory. */
function spawnApp(options: { uid?: number; gid?: number } = {}, under: readonly string[] = []) {
  const [command = '', ...args] = [...under, process.execPath, SCRIPT, dataDir];
  const app: ChildProcess = spawn(command, args, {
    ...options,
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const reports: Report[] = [];
  let errors = '';
  app.stdout?.setEncoding('utf8').on('data', (text: string) => {
    for (const line of text.trim().split('\n')) reports.push(JSON.parse(line));
  });
  app.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exited = once(app, 'exit');
  const closed = once(app, 'close');
  cleanups.push(async () => {
    app.kill('SIGKILL');
    await exited;
    const host = reports[0]?.connection.host;
    // The server's socket is in this directory. So remove the directory after the server has stopped.
    if (host) cleanups.unshift(() => rm(host, { recursive: true, force: true }));
  });
  return {
    report: async (matches: (report: Report) => boolean) => {
      const found = await eventually(() => (app.exitCode ? 'failed' : reports.find(matches)));
      if (found !== 'failed') return found;
      // All output of the app has been read only after this event.
      await closed;
      throw new Error(errors);
    },
    kill: async () => {
      app.kill('SIGKILL');
      await exited;
    },
    stop: async () => {
      app.stdin?.write('stop\n');
      await exited;
      return app.exitCode;
    },
  };
}

describe('first and later starts', () => {
  it('the first start makes the cluster and the database, and listens on a private socket only', async () => {
    const postgres = await start();
    expect(postgres.owned).toBe(true);
    const [row] = await query(
      postgres.connection,
      `SELECT current_database() AS database, getdatabaseencoding() AS encoding,
              current_setting('listen_addresses') AS tcp, current_setting('timezone') AS zone,
              current_setting('synchronous_commit') AS commit, current_setting('max_connections') AS connections,
              lower('ÉÑ') AS lower, 'Z' < 'a' COLLATE "default" AS bytewise`,
    );
    expect(row).toEqual({
      database: 'gateway',
      encoding: 'UTF8',
      tcp: '',
      zone: 'UTC',
      commit: 'on',
      connections: '100',
      lower: 'éñ',
      bytewise: true,
    });
    expect((await stat(postgres.connection.host)).mode & 0o777).toBe(0o700);
    expect(Buffer.byteLength(join(postgres.connection.host, '.s.PGSQL.5432'))).toBeLessThanOrEqual(107);
  });

  it('later starts keep data and address, and can make a second database', async () => {
    await copyCluster();
    const first = await start();
    await query(first.connection, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await Promise.all([first.stop(), first.stop()]);
    expect(first.owned).toBe(false);
    await expect(query(first.connection, 'SELECT 1')).rejects.toThrow();

    const second = await start({ max_connections: '20' }, 'another "one"');
    expect(second.connection.host).toBe(first.connection.host);
    expect(await query(first.connection, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
    const [row] = await query(
      second.connection,
      "SELECT current_database() AS database, current_setting('max_connections') AS connections",
    );
    expect(row).toEqual({ database: 'another "one"', connections: '20' });
  });

  it('a start makes the socket directory again after a cleaner of the temporary directory removed it', async () => {
    await copyCluster();
    const first = await start();
    await first.stop();
    await rm(first.connection.host, { recursive: true });
    const second = await start();
    expect(second.connection).toEqual(first.connection);
    await answers(second.connection);
  });

  it('a failed start quotes the words of the server', async () => {
    await copyCluster();
    await expect(start({ shared_buffers: 'plenty' })).rejects.toThrow(
      /did not start.*shared_buffers.*plenty/s,
    );
    await answers((await start()).connection);
  });

  it('a cluster of another major version is refused', async () => {
    await copyCluster();
    await (await start()).stop();
    await writeFile(join(cluster(), 'PG_VERSION'), '15\n');
    await expect(start()).rejects.toThrow(/made by PostgreSQL 15, but this gateway brings 18/);
  });

  it('a start completes a first start that was killed halfway', async () => {
    await mkdir(join(dataDir, 'postgres.unfinished'), { recursive: true });
    await writeFile(join(dataDir, 'postgres.unfinished', 'PG_VERSION'), '18\n');
    await answers((await start()).connection);
  });

  it('the log has no statement and no value', async () => {
    await copyCluster();
    const postgres = await start();
    await query(postgres.connection, 'CREATE TABLE people (phone text PRIMARY KEY)');
    await query(postgres.connection, "INSERT INTO people VALUES ('+256700000001')");
    await expect(query(postgres.connection, "INSERT INTO people VALUES ('+256700000001')")).rejects.toThrow();
    await postgres.stop();
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8');
    expect(log).toContain('ready to accept connections');
    expect(log).not.toContain('+2567');
    expect(log).not.toContain('people');
  });
});

describe('several processes on one data directory', () => {
  it('share one server when they start at once; a second one takes it over when the owner stops', async () => {
    const apps = [spawnApp(), spawnApp()];
    const reports = await Promise.all(apps.map((app) => app.report(() => true)));
    expect(reports.map((report) => report.owned).sort()).toEqual([false, true]);
    expect(reports[0]?.connection).toEqual(reports[1]?.connection);
    const owner = reports[0]?.owned ? apps[0] : apps[1];
    const other = reports[0]?.owned ? apps[1] : apps[0];
    await query(reports[0]!.connection, 'CREATE TABLE kept AS SELECT 42 AS answer');

    expect(await owner?.stop()).toBe(0);
    const { connection } = (await other?.report((report) => report.owned))!;
    expect(connection).toEqual(reports[0]?.connection);
    expect(await query(connection, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('take the server over when the owner is killed', async () => {
    await copyCluster();
    const owner = spawnApp();
    await owner.report((report) => report.owned);
    const other = await start();
    expect(other.owned).toBe(false);
    await owner.kill();
    await eventually(async () => other.owned);
    await answers(other.connection);
  });

  it('keep the server when a process that does not own it stops', async () => {
    await copyCluster();
    const owner = await start();
    const other = await start();
    expect([owner.owned, other.owned]).toEqual([true, false]);
    await other.stop();
    await query(owner.connection, 'SELECT 1');
  });

  it('have one lock, which is freed on close', () => {
    const path = join(directory, 'lock');
    const [first, second] = [new OwnerLock(path), new OwnerLock(path)];
    expect([first.tryAcquire(), second.tryAcquire(), first.tryAcquire()]).toEqual([true, false, true]);
    first.close();
    expect(second.tryAcquire()).toBe(true);
    second.close();
  });
});

describe('a copy of a DATA_DIR', () => {
  const copy = () => join(directory, 'copy');
  const startCopy = () => start({}, 'gateway', copy());
  const whose = async ({ connection }: EmbeddedPostgres) =>
    (await query(connection, 'SELECT name FROM whose'))[0]?.name;

  /**
   * Copies the directory while the gateway is stopped, as the documentation describes. Returns the endpoint of the
   * original.
   */
  async function copyStopped(): Promise<string> {
    await copyCluster();
    const original = await start();
    await query(original.connection, "CREATE TABLE whose AS SELECT 'original' AS name");
    await original.stop();
    await promisify(execFile)('cp', ['-a', dataDir, copy()]);
    return original.connection.host;
  }

  it.each(['original', 'copy'])(
    'listens at another address, also when the %s starts first',
    async (first) => {
      const host = await copyStopped();
      const started: Record<string, EmbeddedPostgres> = {};
      for (const each of first === 'copy' ? ['copy', 'original'] : ['original', 'copy']) {
        started[each] = await (each === 'copy' ? startCopy() : start());
      }
      const { original, copy: copied } = started as { original: EmbeddedPostgres; copy: EmbeddedPostgres };
      await query(copied.connection, "UPDATE whose SET name = 'copy'");
      expect([await whose(original), await whose(copied)]).toEqual(['original', 'copy']);
      expect(original.connection.host).toBe(host);

      await copied.stop();
      const again = await startCopy();
      expect(again.connection.host).toBe(copied.connection.host);
      expect([await whose(original), await whose(again)]).toEqual(['original', 'copy']);
    },
  );

  it("its processes wait for their own owner and do not join the original's server", async () => {
    await copyStopped();
    const original = await start();
    const owner = new OwnerLock(join(copy(), 'postgres.lock'));
    owner.tryAcquire();
    const sessions = async () =>
      Number(
        (
          await query(original.connection, "SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'")
        )[0]?.sessions,
      );
    const before = await sessions();
    const joining = startCopy();
    await Promise.race([joining, eventually(async () => (await sessions()) > before)]);
    owner.close();
    const joined = await joining;
    expect(joined.owned).toBe(true);
    expect(joined.connection.host).not.toBe(original.connection.host);
  });

  it('that only links to the cluster is refused while the original runs, which keeps running', async () => {
    await copyCluster();
    const cellar = join(directory, 'cellar');
    await mkdir(cellar);
    await rename(cluster(), join(cellar, 'postgres'));
    await symlink(join(cellar, 'postgres'), cluster());
    await (await start()).stop();
    await promisify(execFile)('cp', ['-a', dataDir, copy()]);
    const original = await start();
    const pid = await postmasterPid();

    await expect(startCopy()).rejects.toThrow(/Another gateway.* runs the PostgreSQL cluster.* is a link/);
    expect(await postmasterPid()).toBe(pid);
    await query(original.connection, 'SELECT 1');
    await original.stop();
    await answers((await startCopy()).connection);
  });

  it('differs from a DATA_DIR that was moved, which keeps its address', async () => {
    await copyCluster();
    const first = await start();
    await first.stop();
    await rename(dataDir, copy());
    const moved = await startCopy();
    expect(moved.connection).toEqual(first.connection);
    await query(moved.connection, 'SELECT 1');
  });
});

describe('after a kill', () => {
  it('of the app: the server stops at once, and the next start works', async () => {
    await copyCluster();
    const app = spawnApp();
    const { connection } = await app.report((report) => report.owned);
    await query(connection, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const pid = await postmasterPid();
    await app.kill();
    await eventually(() => isDown(pid));

    const next = await start();
    expect(await query(next.connection, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  it('of the app: a start at the same moment waits for the old server', async () => {
    await copyCluster();
    const app = spawnApp();
    await app.report((report) => report.owned);
    await app.kill();
    const next = await start();
    expect(next.owned).toBe(true);
    await query(next.connection, 'SELECT 1');
  });

  it('of app and server: the next start works', async () => {
    await copyCluster();
    const app = spawnApp();
    await app.report((report) => report.owned);
    process.kill(await postmasterPid(), 'SIGKILL');
    await app.kill();
    const next = await start();
    await query(next.connection, 'SELECT 1');
  });

  it('of app and watchdog: the next start stops the old server', async () => {
    await copyCluster();
    const app = spawnApp();
    await app.report((report) => report.owned);
    const pid = await postmasterPid();
    const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args=']);
    const watchdog = stdout
      .split('\n')
      .find((line) => line.includes('read -r _') && line.endsWith(` ${pid}`));
    process.kill(Number.parseInt(watchdog ?? '', 10), 'SIGKILL');
    await app.kill();
    expect(await isDown(pid)).toBe(false);
    const next = await start();
    expect(await isDown(pid)).toBe(true);
    await query(next.connection, 'SELECT 1');
  });

  it('of the server: its owner starts it again, each time', async () => {
    await copyCluster();
    const postgres = await start();
    for (let round = 0; round < 3; round++) {
      const pid = await postmasterPid();
      process.kill(pid, 'SIGKILL');
      await eventually(async () => {
        const file = await readPostmasterFile(cluster());
        return file?.ready && file.pid !== pid;
      });
      await answers(postgres.connection);
    }
    expect(postgres.owned).toBe(true);
  });
});

describe('a stale postmaster.pid', () => {
  /**
   * Starts a process with the given name. It runs as the server's user, because PostgreSQL ignores the process ids of
   * other users.
   */
  async function spawnNamed(
    name: string,
    shellScript: string,
    user?: { uid: number; gid: number },
  ): Promise<ChildProcess> {
    await copyFile('/bin/sleep', join(directory, name));
    const { uid, gid } = user ?? (await chooseServerUser());
    const child = spawn('/bin/sh', ['-c', shellScript, 'sh', join(directory, name)], { uid, gid });
    cleanups.push(async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    });
    return child;
  }

  const nameOf = async (pid: number) => (await readFile(`/proc/${pid}/comm`, 'utf8')).trim();

  it.each(['another', 'postgres'])(
    'does not matter when a program named %s has its pid now',
    async (name) => {
      await copyCluster();
      const first = await start();
      const file = await readFile(join(cluster(), 'postmaster.pid'), 'utf8');
      await first.stop();
      const child = await spawnNamed(name, 'exec "$1" 60');
      await eventually(async () => (await nameOf(child.pid!)) === name);
      const stale = file.replace(/^\d+/, String(child.pid));
      await writeFile(join(cluster(), 'postmaster.pid'), stale);
      await writeFile(join(first.connection.host, '.s.PGSQL.5432.lock'), stale);

      await query((await start()).connection, 'SELECT 1');
      expect(child.exitCode ?? child.signalCode).toBeNull();
    },
  );

  asRoot("is told from another user's server, whose directory an ordinary user cannot read", async () => {
    await mkdir(cluster(), { recursive: true });
    await chown(cluster(), NOBODY, NOBODY);
    const source = join(import.meta.dirname, '../../src/storage/embedded-postgres');
    if (!(await canEnter({ name: 'nobody', uid: NOBODY, gid: NOBODY }, source))) return;
    const child = await spawnNamed('postgres', 'exec "$1" 60', { uid: NOBODY - 1, gid: NOBODY - 1 });
    await eventually(async () => (await nameOf(child.pid!)) === 'postgres');
    const ask = `const { isLivePostmaster } = await import(process.argv[1]);
      console.log(await isLivePostmaster(Number(process.argv[2]), process.argv[3]));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', ask, join(source, 'postmaster-file.ts'), String(child.pid), cluster()],
      { uid: NOBODY, gid: NOBODY },
    );
    expect(stdout).toBe('false\n');
  });

  it('of a zombie process is recognised', async () => {
    await mkdir(cluster(), { recursive: true });
    const parent = await spawnNamed('postgres', '"$1" 60 & echo $!; exec sleep 60');
    const [line] = await once(parent.stdout!, 'data');
    const pid = Number(line);
    // Wait until `sleep` has replaced the shell. A shell would reap the child when it ends, and there would be no
    // zombie.
    await eventually(
      async () => (await nameOf(parent.pid!)) === 'sleep' && (await nameOf(pid)) === 'postgres',
    );
    process.kill(pid, 'SIGKILL');
    await eventually(async () => / \(postgres\) Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8')));
    expect(await isLivePostmaster(pid, cluster())).toBe(false);
  });
});

describe('packaged binaries', () => {
  /** Copies the binaries without symbolic links, as npm installs them with --ignore-scripts. */
  async function packageWithoutSymlinks(): Promise<string> {
    const native = join(directory, 'node_modules', 'native');
    await cp(packagedBinaries(), native, {
      recursive: true,
      filter: async (path) => !(await lstat(path)).isSymbolicLink(),
    });
    return native;
  }

  it('get the symbolic links that npm --ignore-scripts omitted', async () => {
    const native = await packageWithoutSymlinks();
    const user = await chooseServerUser();
    const binaries = await usableBinaries(native, user, directory);
    expect(binaries).toEqual({ directory: native, majorVersion: 18 });
    expect(await readlink(join(native, 'lib', 'libpq.so.5'))).toBe('libpq.so.5.18');
  });

  asRoot('are copied, once, when the server user cannot enter node_modules', async () => {
    const native = await packageWithoutSymlinks();
    await chmod(dirname(native), 0o700);
    const user = await chooseServerUser();
    const copyParent = join(directory, 'copy');
    await mkdir(copyParent);
    const binaries = await usableBinaries(native, user, copyParent);
    expect(binaries.directory.startsWith(copyParent)).toBe(true);
    const { mtimeMs } = await stat(binaries.directory);
    expect(await usableBinaries(native, user, copyParent)).toEqual(binaries);
    expect((await stat(binaries.directory)).mtimeMs).toBe(mtimeMs);
  });
});

describe('users', () => {
  asRoot('root keeps the cluster under /var/lib when the server user cannot enter DATA_DIR', async () => {
    await chmod(directory, 0o700);
    const first = await start();
    const place = await readlink(cluster());
    cleanups.push(() => rm(dirname(place), { recursive: true, force: true }));
    expect(place).toMatch(/^\/var\/lib\/messaging-gateway-/);
    await query(first.connection, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    const second = await start();
    expect(await readlink(cluster())).toBe(place);
    expect(await query(second.connection, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  asRoot(
    'root runs the server as the ordinary user whose cluster it is, and that user still can',
    async () => {
      await mkdir(dataDir);
      await chown(dataDir, NOBODY, NOBODY);
      if (!(await canEnter({ name: 'nobody', uid: NOBODY, gid: NOBODY }, await realpath(dirname(SCRIPT)))))
        return;
      const ordinary = spawnApp({ uid: NOBODY, gid: NOBODY });
      const { owned } = await ordinary.report(() => true);
      expect(owned).toBe(true);
      expect((await stat(cluster())).uid).toBe(NOBODY);
      expect(await ordinary.stop()).toBe(0);

      const root = await start();
      await query(root.connection, 'SELECT 1');
      expect((await stat(join(cluster(), 'postmaster.pid'))).uid).toBe(NOBODY);
      await root.stop();

      await spawnApp({ uid: NOBODY, gid: NOBODY }).report((report) => report.owned);
      await access(cluster());
    },
  );

  asRoot('root of a container needs no capability besides those that it is told of', async () => {
    if (!existsSync(SETPRIV)) return;
    const few = '-all,+setuid,+setgid,+chown,+dac_override,+kill';
    const under = [SETPRIV, `--bounding-set=${few}`, '--inh-caps=-all'];
    await copyCluster();
    for (let round = 0; round < 2; round += 1) {
      const killed = spawnApp({}, under);
      await killed.report((report) => report.owned);
      await killed.kill();
      const stopped = spawnApp({}, under);
      await stopped.report((report) => report.owned);
      expect(await stopped.stop()).toBe(0);
    }
    const bare = spawnApp({}, [SETPRIV, '--bounding-set=-all', '--inh-caps=-all']);
    await expect(bare.report(() => true)).rejects.toThrow(
      'the capabilities SETUID, SETGID, CHOWN, DAC_OVERRIDE and KILL',
    );
  });

  asRoot('a uid without a passwd entry is told to set DATABASE_URL', async () => {
    await mkdir(dataDir);
    await chown(dataDir, 54_321, 54_321);
    const app = spawnApp({ uid: 54_321, gid: 54_321 });
    await expect(app.report(() => true)).rejects.toThrow(/uid 54321 has no entry.*DATABASE_URL/s);
  });

  asRoot("an ordinary user is told when the cluster is somebody else's", async () => {
    await copyCluster();
    await (await start()).stop();
    await chown(dataDir, NOBODY, NOBODY);
    await chown(join(dataDir, 'postgres.lock'), NOBODY, NOBODY);
    const app = spawnApp({ uid: NOBODY, gid: NOBODY });
    await expect(app.report(() => true)).rejects.toThrow(/belongs to uid \d+, this process runs as nobody/);
  });
});
