import { randomBytes } from 'node:crypto';
import { lstat, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterPlace, identityOf } from './cluster.ts';
import { isLivePostmaster } from './postmaster-file.ts';
import { canEnter, giveTo, makePrivateDirectory, type ServerUser } from './server-user.ts';

/** Where the server listens: a socket directory, or on Windows 127.0.0.1 with a password. */
export interface Endpoint {
  host: string;
  port: number;
  password?: string;
}

/** The content of postgres.json: an endpoint, and the identity (`identityOf`) of the DATA_DIR that chose it. */
interface EndpointRecord {
  endpoint: Endpoint;
  dataDir: string;
}

/** A part of the socket's file name. The server does not listen on TCP. */
const SOCKET_PORT = 5432;
/**
 * Longest allowed path of a socket in bytes, without the final NUL. It is the limit of macOS, the lowest of the
 * supported systems. Linux allows 107.
 */
const SOCKET_PATH_LIMIT = 103;

/** Returns the path of the socket's file. */
export const socketFile = (endpoint: Endpoint): string => join(endpoint.host, `.s.PGSQL.${endpoint.port}`);

const recordOf = (dataDir: string): string => join(dataDir, 'postgres.json');

/**
 * Returns where the owner's server listens or listened last. Undefined before the first start. In a copy of a DATA_DIR,
 * this is the original's endpoint until the copy's owner has chosen another one.
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
 * Chooses the server's endpoint and stores it for other processes. The endpoint stays the same after restarts and moves
 * of DATA_DIR, so that connection pools find the server of the next owner. A copy of a DATA_DIR gets its own endpoint.
 * With `keep`, throws instead of choosing another endpoint, because pools of this process already use the old one.
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

/** True if a running server of another cluster listens at the endpoint. A stale lock file does not count. */
async function servesAnother(endpoint: Endpoint, cluster: string): Promise<boolean> {
  const lock = await readFile(`${socketFile(endpoint)}.lock`, 'utf8').catch(() => '');
  const [pid, served = ''] = lock.split('\n');
  return served !== '' && served !== cluster && (await isLivePostmaster(Number(pid), served));
}

/**
 * True if the socket directory belongs to the server's user. A missing directory (after a reboot or a clean-up of /tmp)
 * is created.
 */
async function isOurDirectory(path: string, user: ServerUser): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (!found) {
    return makePrivateDirectory(path, user).then(
      () => true,
      () => false,
    );
  }
  // /tmp is writable for everyone, so another user may have created a directory with this name.
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
