import { randomBytes } from 'node:crypto';
import { lstat, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterPlace, identityOf } from './cluster.ts';
import { isLivePostmaster } from './postmaster-file.ts';
import { canEnter, giveTo, makePrivateDirectory, type ServerUser } from './server-user.ts';

/** Where the server listens: a socket directory, or (Windows) 127.0.0.1 with a password. */
export interface Endpoint {
  host: string;
  port: number;
  password?: string;
}

/** What postgres.json holds: an endpoint, and the identity of the DATA_DIR that chose it. */
interface EndpointRecord {
  endpoint: Endpoint;
  dataDir: string;
}

/** Only names the socket file; nothing listens on TCP. */
const SOCKET_PORT = 5432;
/** The smallest of the systems' limits on a socket's path, in bytes, without the final NUL (macOS; Linux has 107). */
const SOCKET_PATH_LIMIT = 103;

/** The socket's file on disk. */
export const socketFile = (endpoint: Endpoint): string => join(endpoint.host, `.s.PGSQL.${endpoint.port}`);

const recordOf = (dataDir: string): string => join(dataDir, 'postgres.json');

/**
 * Where the owner's server listens or last listened; undefined before the first start. In a DATA_DIR that is a
 * copy it is the endpoint of the original until the copy's owner has chosen another.
 */
export async function readEndpoint(dataDir: string): Promise<Endpoint | undefined> {
  return (await readRecord(dataDir))?.endpoint;
}

async function readRecord(dataDir: string): Promise<EndpointRecord | undefined> {
  const text = await readFile(recordOf(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const { dataDir: chosenIn, ...endpoint } = JSON.parse(text) as Endpoint & { dataDir: string };
  return { endpoint, dataDir: chosenIn };
}

async function writeRecord(dataDir: string, { endpoint, dataDir: chosenIn }: EndpointRecord): Promise<void> {
  const draft = `${recordOf(dataDir)}.new`;
  await writeFile(draft, JSON.stringify({ ...endpoint, dataDir: chosenIn }), { mode: 0o600, flush: true });
  await rename(draft, recordOf(dataDir));
}

/**
 * Makes ready the place where the server will listen, and records it for other processes. It stays the same
 * from start to start, also when DATA_DIR is moved, so that connection pools find the next owner's server; a
 * copy of a DATA_DIR chooses its own. With `keep` (pools of this process exist) it throws rather than choose
 * another.
 */
export async function prepareEndpoint(
  dataDir: string,
  cluster: ClusterPlace,
  keep: boolean,
): Promise<Endpoint> {
  const recorded = await readRecord(dataDir);
  const identity = await identityOf(dataDir);
  const endpoint = recorded?.endpoint;
  const isCopied = recorded !== undefined && recorded.dataDir !== identity;
  if (endpoint && (keep || !isCopied) && (await isUsable(endpoint, cluster))) {
    if (recorded.dataDir !== identity) await writeRecord(dataDir, { endpoint, dataDir: identity });
    return endpoint;
  }
  if (endpoint && keep) {
    throw new Error(
      `The embedded PostgreSQL cannot listen at ${endpoint.host}:${endpoint.port} again: somebody else has ` +
        'taken that place. Restart the gateway to choose another.',
    );
  }
  const chosen =
    process.platform === 'win32'
      ? {
          host: '127.0.0.1',
          port: await freePort(),
          password: endpoint?.password ?? randomBytes(24).toString('base64url'),
        }
      : { host: await makeSocketDirectory(cluster.user), port: SOCKET_PORT };
  await writeRecord(dataDir, { endpoint: chosen, dataDir: identity });
  return chosen;
}

async function isUsable(endpoint: Endpoint, { directory, user }: ClusterPlace): Promise<boolean> {
  if (process.platform === 'win32') return isPortFree(endpoint);
  return (await isOurDirectory(endpoint.host, user)) && !(await servesAnother(endpoint, directory));
}

/** Whether a living server of another cluster listens there; a stale lock file says nothing. */
async function servesAnother(endpoint: Endpoint, cluster: string): Promise<boolean> {
  const lock = await readFile(`${socketFile(endpoint)}.lock`, 'utf8').catch(() => '');
  const [pid, served = ''] = lock.split('\n');
  return served !== '' && served !== cluster && (await isLivePostmaster(Number(pid), served));
}

/** True also when it had vanished (a reboot, a cleaner of /tmp) and could be made again. */
async function isOurDirectory(path: string, user: ServerUser): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) {
    return makePrivateDirectory(path, user).then(
      () => true,
      () => false,
    );
  }
  // In a directory open to all, the name alone proves nothing: a stranger may have put up his own.
  const owner = user.uid ?? process.geteuid?.();
  return found.isDirectory() && found.uid === owner && (found.mode & 0o077) === 0;
}

async function makeSocketDirectory(user: ServerUser): Promise<string> {
  for (const parent of [tmpdir(), '/tmp', '/var/tmp']) {
    const longest = socketFile({ host: join(parent, 'pg-XXXXXX'), port: SOCKET_PORT });
    if (Buffer.byteLength(longest) > SOCKET_PATH_LIMIT || !(await canEnter(user, parent))) continue;
    const directory = await mkdtemp(join(parent, 'pg-')).catch(() => undefined);
    if (directory === undefined) continue;
    await giveTo(user, directory);
    return directory;
  }
  throw new Error(
    `There is no place for the embedded PostgreSQL's socket: neither ${tmpdir()}, /tmp nor /var/tmp is ` +
      `writable, can be entered by user ${user.name} and has a path short enough for a socket. Set TMPDIR to ` +
      'such a directory, or set DATABASE_URL.',
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return port;
}

function isPortFree({ port }: Endpoint): Promise<boolean> {
  const server = createServer();
  return new Promise((done) => {
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}
