import { execFile } from 'node:child_process';
import { chown, mkdir, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** The user who runs PostgreSQL's programs. Without `uid` and `gid` it is the user of this process. */
export interface ServerUser {
  name: string;
  uid?: number;
  gid?: number;
}

/** The environment of all PostgreSQL programs. It leaves out this process's PG* variables, locale and time zone. */
export const CLEAN_ENVIRONMENT: Record<string, string> =
  process.platform === 'win32' ? { TZ: 'UTC' } : { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/bin:/bin' };

/** True if this process may act as another user. False on Windows. */
export const isRoot = (): boolean => process.geteuid?.() === 0;

/**
 * Chooses the user who runs the server. PostgreSQL refuses to run as root. So root takes the owner of an existing
 * cluster, else `postgres`, else `nobody`. Any other user runs the server itself. Throws if there is no such user.
 */
export async function chooseServerUser(clusterOwner?: { uid: number; gid: number }): Promise<ServerUser> {
  if (!isRoot()) return { name: ownName() };
  if (clusterOwner && clusterOwner.uid !== 0) {
    return { name: `uid ${clusterOwner.uid}`, uid: clusterOwner.uid, gid: clusterOwner.gid };
  }
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  for (const wanted of ['postgres', '_postgres', 'nobody']) {
    const [name, , uid, gid] =
      passwd
        .split('\n')
        .find((line) => line.startsWith(`${wanted}:`))
        ?.split(':') ?? [];
    if (name && Number(uid) !== 0) return { name, uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    'The embedded PostgreSQL cannot run as root, and /etc/passwd has no user "postgres" or "nobody" to run it ' +
      'as: add one, start the gateway as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

function ownName(): string {
  try {
    return userInfo().username;
  } catch (cause) {
    throw new Error(
      `The embedded PostgreSQL cannot start: uid ${process.geteuid?.()} has no entry in /etc/passwd, and ` +
        'PostgreSQL refuses to run as a user it cannot look up. Set DATABASE_URL to a PostgreSQL of your own, ' +
        'or run as a user the system knows.',
      { cause },
    );
  }
}

/**
 * Runs a program as the server's user in a clean environment. Returns its stdout. Throws with all its output if it
 * fails.
 */
export async function runAs(user: ServerUser, program: string, args: readonly string[]): Promise<string> {
  const { uid, gid } = user;
  try {
    const options = { uid, gid, env: CLEAN_ENVIRONMENT, cwd: '/', timeout: 120_000, windowsHide: true };
    return (await execFileAsync(program, args, options)).stdout;
  } catch (cause) {
    const { code, stdout = '', stderr = '' } = cause as { code?: unknown; stdout?: string; stderr?: string };
    const printed = `${stdout}${stderr}`.trim();
    if (code === 'EPERM' && uid !== undefined) {
      throw new Error(
        `Root may not become user ${user.name} (uid ${uid}) here, and PostgreSQL refuses to run as root: give ` +
          'the container the capabilities SETUID, SETGID, CHOWN, DAC_OVERRIDE and KILL, start the gateway as an ' +
          'ordinary user, or set DATABASE_URL.',
        { cause },
      );
    }
    throw new Error(
      `${program} failed as user ${user.name} (${code}): ${printed || (cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

/** True if the server's user can enter the directory. It tries `cd` as that user, so that ACLs and mounts count too. */
export async function canEnter(user: ServerUser, directory: string): Promise<boolean> {
  if (user.uid === undefined) return true;
  const answer = await runAs(user, '/bin/sh', ['-c', 'cd "$1" 2>&1 || echo no', 'sh', directory]);
  return answer === '';
}

/** Creates a directory that only the server's user and root can enter. Throws if it exists. */
export async function makePrivateDirectory(path: string, user: ServerUser): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await giveTo(user, path);
}

/** Makes the server's user the owner of the path. Does nothing if this process runs the server as its own user. */
export async function giveTo(user: ServerUser, path: string): Promise<void> {
  if (user.uid === undefined || user.gid === undefined) return;
  try {
    await chown(path, user.uid, user.gid);
  } catch (cause) {
    throw new Error(
      `Cannot give ${path} to user ${user.name} (uid ${user.uid}), who is to run the embedded PostgreSQL: ` +
        `${(cause as Error).message}. Start the gateway as an ordinary user, or set DATABASE_URL.`,
      { cause },
    );
  }
}
