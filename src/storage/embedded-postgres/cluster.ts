import { randomBytes } from 'node:crypto';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { syncDirectory } from '../../runtime/sync-directory.ts';
import { type Binaries, program } from './binaries.ts';
import {
  canEnter,
  chooseServerUser,
  giveTo,
  isRoot,
  makePrivateDirectory,
  runAs,
  type ServerUser,
} from './server-user.ts';

/** The superuser that initdb creates. The gateway connects as this user. */
export const SUPERUSER = 'postgres';

/** The directory of the cluster (PostgreSQL's data directory), and the user who runs its server. */
export interface ClusterPlace {
  directory: string;
  user: ServerUser;
}

const statOf = (path: string) => stat(path).catch(() => undefined);

/**
 * Returns the device and inode number of a directory. They stay the same when the directory is moved, and differ in a
 * copy of it.
 */
export async function identityOf(directory: string): Promise<string> {
  const { dev, ino } = await stat(directory, { bigint: true });
  return `${dev}:${ino}`;
}

/** Returns the directory of the cluster: DATA_DIR/postgres, or the target if that is a link. */
export async function clusterDirectory(dataDir: string): Promise<string> {
  const entry = join(dataDir, 'postgres');
  const linked = await readlink(entry).catch(() => undefined);
  return linked === undefined ? entry : resolve(dataDir, linked);
}

/** True if a cluster exists. Also true if the directory cannot be read: then opening the cluster reports the reason. */
export async function hasCluster(dataDir: string): Promise<boolean> {
  try {
    await stat(join(await clusterDirectory(dataDir), 'PG_VERSION'));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/**
 * Finds the directory of the cluster, as `clusterDirectory` does. If the server's user cannot enter root's DATA_DIR,
 * creates a new directory under /var/lib and links to it from DATA_DIR. Throws if another user owns the cluster, or if
 * it cannot be reached.
 */
export async function placeCluster(dataDir: string): Promise<ClusterPlace> {
  const entry = join(dataDir, 'postgres');
  const directory = await clusterDirectory(dataDir);
  const isLinked = directory !== entry;
  const found = await statOf(directory);
  const user = await chooseServerUser(found);

  if (found && !isRoot() && process.platform !== 'win32' && found.uid !== process.geteuid?.()) {
    throw new Error(
      `The PostgreSQL cluster in ${directory} belongs to uid ${found.uid}, this process runs as ${user.name}: ` +
        'run as root or as its owner, or choose another DATA_DIR.',
    );
  }
  if (await canEnter(user, dirname(directory))) return { directory, user };
  if (found || isLinked) {
    throw new Error(
      `User ${user.name} runs the embedded PostgreSQL but cannot enter ${dirname(directory)}: give every ` +
        'directory in that path the mode o+x (chmod o+x), or move the cluster and link it from ' +
        `${entry}.`,
    );
  }
  return { directory: await linkElsewhere(entry), user };
}

async function linkElsewhere(entry: string): Promise<string> {
  await mkdir('/var/lib', { recursive: true });
  const home = await mkdtemp('/var/lib/messaging-gateway-');
  await chmod(home, 0o755);
  const directory = join(home, 'postgres');
  await symlink(directory, entry);
  return directory;
}

/**
 * Creates the cluster if it does not exist. It is created under another name and then renamed, so a killed attempt
 * leaves no incomplete cluster. If `password` is set, clients over TCP need it. Throws if initdb fails, or if another
 * major version of PostgreSQL made the cluster.
 */
export async function ensureCluster(
  { directory, user }: ClusterPlace,
  binaries: Binaries,
  options: { durable: boolean; password?: string; localeArguments: readonly string[] },
): Promise<void> {
  const version = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version !== undefined) {
    if (Number(version) === binaries.majorVersion) return;
    throw new Error(
      `The cluster in ${directory} was made by PostgreSQL ${version.trim()}, but this gateway brings ` +
        `${binaries.majorVersion}: upgrade it with pg_upgrade or a dump, or choose another DATA_DIR.`,
    );
  }

  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await makePrivateDirectory(unfinished, user);
  const authentication = await authenticationArguments(unfinished, user, options.password);
  await runAs(user, program(binaries, 'initdb'), [
    `--pgdata=${unfinished}`,
    `--username=${SUPERUSER}`,
    '--encoding=UTF8',
    ...options.localeArguments,
    ...authentication.args,
    ...(options.durable ? [] : ['--no-sync']),
  ]);
  await authentication.forget();
  try {
    await rename(unfinished, directory);
  } catch (cause) {
    throw new Error(
      `Cannot put a new PostgreSQL cluster in ${directory} (${(cause as Error).message}): the path must be ` +
        'absent or an empty directory, and not itself a mount point (mount its parent instead).',
      { cause },
    );
  }
  await syncDirectory(dirname(directory));
}

/**
 * Returns initdb's arguments for authentication. Without a password, every user who can enter the socket's directory
 * may connect.
 */
async function authenticationArguments(unfinished: string, user: ServerUser, password: string | undefined) {
  if (password === undefined) {
    return { args: ['--auth-local=trust', '--auth-host=reject'], forget: async () => undefined };
  }
  const file = `${unfinished}.${randomBytes(6).toString('hex')}`;
  await writeFile(file, password, { mode: 0o600 });
  await giveTo(user, file);
  return { args: ['--auth=scram-sha-256', `--pwfile=${file}`], forget: () => rm(file) };
}
