import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type BenchContext, type BenchResult, median, medianRatio } from './context.ts';
import { onConnections } from './http-connection.ts';
import { checkAccepted, type LoadResult, sendSmsLoad, WARM_SECONDS } from './load.ts';
import { startProgram } from './program.ts';

const CONNECTIONS = 64;
const SECONDS = 2;
const ROUNDS = 9;
const ROUNDS_SENDING = 3;
const START_MS = 15_000;
const SENT_MS = 120_000;

/**
 * Row 3: messages accepted a second, compared with Kannel's `sendsms` with a file store and a carrier that accepts
 * everything. Needs an installed Kannel.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const [bearerbox, smsbox] = await Promise.all(['bearerbox', 'smsbox'].map(find));
  if (bearerbox === undefined || smsbox === undefined) {
    context.log(
      'kannel: skipped, since bearerbox and smsbox are not installed (Debian: apt-get install kannel)',
    );
    return [];
  }
  const kannel = await startKannel(bearerbox, smsbox);
  try {
    await kannel.load(CONNECTIONS, SECONDS);
    return [
      {
        row: 3,
        name: 'accepted/s ÷ Kannel sendsms with a file store',
        ...(await compare(context, kannel.load, { ROLES: 'api' })),
        reach: '0.8',
      },
      {
        name: 'the same, while our workers send them too',
        ...(await compare(context, kannel.load, {})),
      },
    ];
  } finally {
    await kannel.stop();
  }
}

/** Measures a server with `settings` and Kannel alternately. The server's backlog is sent before Kannel is measured. */
async function compare(
  context: BenchContext,
  loadKannel: (connections: number, seconds: number) => Promise<number>,
  settings: Readonly<Record<string, string>>,
) {
  const server = await context.startServer(settings);
  const ours: LoadResult[] = [];
  const theirs: number[] = [];
  const isSending = settings.ROLES === undefined;
  const rounds = isSending ? ROUNDS_SENDING : ROUNDS;
  try {
    let { accepted } = await sendSmsLoad(server, CONNECTIONS, WARM_SECONDS);
    for (let round = 1; round <= rounds; round += 1) {
      context.log(`kannel: round ${round} of ${rounds}${isSending ? ', sending' : ''}`);
      if (isSending) await allSent(context, server.database);
      theirs.push(await loadKannel(CONNECTIONS, SECONDS));
      const load = await sendSmsLoad(server, CONNECTIONS, SECONDS);
      accepted += load.accepted;
      ours.push(load);
    }
    await checkAccepted(context, server.database, accepted);
  } finally {
    await server.stop();
  }
  const rates = ours.map(({ accepted, seconds }) => accepted / seconds);
  return {
    value: median(rates),
    unit: '/s',
    baseline: median(theirs),
    ratio: medianRatio(rates, theirs),
    cpuUs: median(ours.map(({ cpuUs }) => cpuUs)),
  };
}

/**
 * Resolves when every message is finished, so that the next measurement has the whole machine. Fails after `SENT_MS`.
 */
async function allSent(context: BenchContext, database: string): Promise<void> {
  await context.withClient(database, (client) =>
    eventually(
      async () =>
        (await client.query(`SELECT FROM recipients WHERE status IN ('pending', 'sent') LIMIT 1`))
          .rowCount === 0,
      SENT_MS,
    ),
  );
}

async function find(program: string): Promise<string | undefined> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']) {
    const path = join(folder, program);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

async function startKannel(bearerbox: string, smsbox: string) {
  const folder = await mkdtemp(join(tmpdir(), 'bench-kannel-'));
  const [admin, boxes, carrier, http] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  const file = join(folder, 'kannel.conf');
  const children: ChildProcess[] = [];
  const sockets: Socket[] = [];
  await writeFile(
    file,
    `group = core
admin-port = ${admin}
admin-password = bench
smsbox-port = ${boxes}
box-allow-ip = 127.0.0.1
log-file = ${join(folder, 'bearerbox.log')}
log-level = 4
store-type = file
store-location = ${join(folder, 'store')}

group = smsc
smsc = fake
smsc-id = bench
port = ${carrier}
connect-allow-ip = 127.0.0.1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = ${http}
log-file = ${join(folder, 'smsbox.log')}
log-level = 4

group = sendsms-user
username = bench
password = bench
`,
  );
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    children.push(startProgram(bearerbox, [file], { stdio: 'ignore', cwd: folder }));
    await reach(boxes);
    children.push(startProgram(smsbox, [file], { stdio: 'ignore', cwd: folder }));
    await reach(http);
    // Connect to Kannel as its fake carrier, and read what it sends.
    const socket = await reach(carrier, true);
    socket.resume();
    sockets.push(socket);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, load: (connections: number, seconds: number) => load(http, connections, seconds) };
}

/** Resolves once a server listens on the port. */
async function reach(port: number, isKept = false): Promise<Socket> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false);
    if (!isOpen || !isKept) socket.destroy();
    if (isOpen) return socket;
    if (performance.now() > deadline) throw new Error(`Kannel does not listen on ${port}`);
    await sleep(100);
  }
}

/** Returns the number of messages that Kannel accepts a second. Throws on any other answer. */
async function load(port: number, connections: number, seconds: number): Promise<number> {
  let sent = 0;
  let accepted = 0;
  const took = await onConnections(`http://127.0.0.1:${port}`, connections, seconds, async (connection) => {
    sent += 1;
    const to = `%2B2567${String((sent * 10 + 7) % 1e8).padStart(8, '0')}`;
    const text = 'Hello%2C+this+is+a+benchmark+message.';
    const query = `username=bench&password=bench&from=SERVICE&to=${to}&text=${text}`;
    const answer = await connection.send('GET', `/cgi-bin/sendsms?${query}`, {});
    if (answer.status !== 202) throw new Error(`Kannel: ${answer.status} ${answer.body}`);
    accepted += 1;
  });
  return accepted / took.seconds;
}
