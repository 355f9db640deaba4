import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCliHere } from '../support/cli.ts';
import { createTestDatabase, databaseUrl, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { installMachine, type Machine } from './machine.ts';

const ROOT = join(import.meta.dirname, '../..');
const NAME = 'messaging-gateway.service';
const UNIT = join(ROOT, 'deploy/systemd', NAME);
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

/** Runs `work` while the program and its documents are installed where the systemd unit expects them. */
function withInstalled(work: () => void): void {
  const place = '/opt/messaging-gateway/docs/operations';
  mkdirSync(place, { recursive: true });
  cpSync(join(ROOT, 'bin'), '/opt/messaging-gateway/bin', { recursive: true });
  try {
    work();
  } finally {
    rmSync('/opt/messaging-gateway', { recursive: true });
  }
}

it('is a unit without a fault', () => {
  withInstalled(() => {
    const directory = mkdtempSync(join(tmpdir(), 'unit-'));
    cpSync(UNIT, join(directory, NAME));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(directory, NAME)], {
      encoding: 'utf8',
    });
    rmSync(directory, { recursive: true });
    expect(stderr).toBe('');
    expect(status).toBe(0);
  });
});

it('is exposed less than systemd calls medium', () => {
  const report = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', UNIT], {
    encoding: 'utf8',
  });
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
  expect(exposure).toBeLessThan(2);
});

describe('the unit, installed as docs/operations/deploy.md says', () => {
  let machine: Machine;
  let database: TestDatabase;
  let url: string;
  let port: number;
  beforeAll(async () => {
    machine = installMachine();
    database = await createTestDatabase();
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    install();
    // The user of the unit needs the socket of the test's PostgreSQL. It does not see this machine's /tmp.
    const { host } = database.connection;
    chmodSync(host, 0o755);
    for (const name of readdirSync(host)) chmodSync(join(host, name), 0o777);
    setUp({ DATABASE_URL: databaseUrl({ ...database.connection, host: '/run/absent' }) });
    await machine.boot({ '/run/test-postgres': host });
    machine.systemctl('enable', '--now', NAME);
  }, 900_000);
  afterAll(async () => {
    await machine?.remove();
    await database?.drop();
  });

  const there = (path: string) => join(machine.root, path);
  const shown = (property: string) => machine.systemctl('show', '--value', '--property', property, NAME);
  const isReady = async () => (await fetch(`${url}/health/ready`).catch(() => undefined))?.status === 200;

  /** Takes the steps of docs/operations/deploy.md, but for the start. */
  function install(): void {
    const program = there('opt/messaging-gateway');
    mkdirSync(program, { recursive: true });
    execFileSync(process.execPath, ['tools/pack.js'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const tarball = join(ROOT, `messaging-gateway-${version}.tgz`);
    execFileSync('tar', ['xzf', tarball, '-C', program, '--strip-components=1']);
    rmSync(tarball);
    execFileSync('npm', ['ci', '--omit=dev'], { cwd: program, stdio: ['ignore', 'ignore', 'inherit'] });
    cpSync(join(program, 'deploy/systemd', NAME), there(`etc/systemd/system/${NAME}`));
    mkdirSync(there('etc/messaging-gateway'), { recursive: true });
  }

  /** Writes the environment file. */
  function setUp(variables: Readonly<Record<string, string>>): void {
    const all = {
      PORT: String(port),
      MASTER_KEY,
      METRICS_TOKEN: 'metrics',
      SMS_ROUTES: '*=simulator:',
      ...variables,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}=${value}\n`);
    const example = readFileSync(join(ROOT, '.env.example'), 'utf8');
    writeFileSync(there('etc/messaging-gateway/environment'), example + lines.join(''), { mode: 0o600 });
  }

  it('is tried again for as long as there is no database, and answers when there is one', async () => {
    // systemd would give up after five starts in ten seconds.
    await eventually(() => Number(shown('NRestarts')) > 6, 120_000);
    expect(machine.journal(NAME)).toContain('The database cannot be reached');
    setUp({ DATABASE_URL: databaseUrl({ ...database.connection, host: '/run/test-postgres' }) });
    await eventually(isReady, 120_000);
  });

  it('sends a message, as a user of its own that keeps its data for itself', async () => {
    const variables = { DATABASE_URL: database.url, MASTER_KEY };
    const cli = async (...args: string[]) => {
      const { stdout, stderr } = await runCliHere([...args, '--json'], variables);
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const owner = ['--email', 'a@example.com', '--currency', 'UGX', '--balance', '100'];
    const { account } = await cli('account', 'create', ...owner);
    const { key } = await cli('key', 'create', '--account', account.id, '--scopes', 'FULL_ACCESS');
    const api = `${url}/api/v1/developers`;
    const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ to: '+256700123456', message: 'Hello' });
    const sent = await fetch(`${api}/sms`, { method: 'POST', headers, body });
    expect(sent.status).toBe(200);
    const { id } = (await sent.json()) as { id: string };
    await eventually(async () => {
      const found = (await (await fetch(`${api}/messages/${id}`, { headers })).json()) as { status: string };
      return found.status === 'delivered';
    });
    expect(shown('User')).toBe('messaging-gateway');
    const status = machine.read(`/proc/${shown('MainPID')}/status`);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).not.toMatch(/^Uid:\t0\t/m);
    // The state directory of a dynamic user is there for this user only.
    expect(statSync(there('var/lib/private/messaging-gateway')).mode & 0o777).toBe(0o700);
  });

  it('is started again after a kill, and stops without a fault', async () => {
    const killed = shown('MainPID');
    machine.systemctl('kill', '--signal=KILL', NAME);
    await eventually(async () => shown('MainPID') !== killed && (await isReady()), 120_000);
    machine.systemctl('stop', NAME);
    expect([shown('Result'), shown('ExecMainStatus')]).toEqual(['success', '0']);
    expect(await isReady()).toBe(false);
  });
});
