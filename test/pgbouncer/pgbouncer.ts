import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { ServerConnection } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';

const PROGRAM = '/usr/sbin/pgbouncer';
const PASSWORD = 'secret';

export interface PgBouncer extends AsyncDisposable {
  /** The DATABASE_URL of the database, through PgBouncer. */
  readonly url: string;
}

/** Starts Debian's PgBouncer with Debian's settings. Only its addresses and `settings` differ. */
export async function startPgBouncer(
  server: ServerConnection,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<PgBouncer> {
  const directory = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  await chmod(directory, 0o755);
  const users = join(directory, 'userlist.txt');
  const file = join(directory, 'pgbouncer.ini');
  const port = await freePort();
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'md5',
    auth_file: users,
    ...settings,
  };
  await writeFile(users, `"${server.user}" "${PASSWORD}"\n`);
  await writeFile(
    file,
    [
      '[databases]',
      `* = host=${server.host} port=${server.port} user=${server.user}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
      '',
    ].join('\n'),
  );
  // Only the user of the PostgreSQL server may enter the directory of its socket, and PgBouncer refuses to run as root.
  const { uid, gid } = await stat(server.host);
  const child = spawn(PROGRAM, [file], { uid, gid, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said += data;
  });
  const ended = once(child, 'close');
  const url = `postgres://${server.user}:${PASSWORD}@127.0.0.1:${port}/${server.database}`;
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(directory, { recursive: true });
  };
  try {
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${said}`);
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      await client.connect();
      await client.end();
      return true;
    }, 10_000);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, [Symbol.asyncDispose]: stop };
}
