/** Follows the quickstart at /docs/quickstart word for word, and compiles the samples of the SDK's page. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { guide, samplesOf } from '../support/guide.ts';
import { installSdk } from '../support/sdk-package.ts';
import { buildWorkplace, startServer, type Workplace } from '../support/server-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'sdk/typescript/README.md'), 'utf8');

describe('the quickstart (R321)', () => {
  let workplace: Workplace;
  const running: ChildProcess[] = [];
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    workplace = await buildWorkplace();
  });
  afterAll(async () => {
    // Each process leads a process group, so the signal also reaches what its shell started.
    for (const child of running) if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
    for (const end of ends) await end();
    await workplace?.remove();
  });

  it('ends, followed word for word in a clean directory, in a delivered message and a verified webhook', async () => {
    const samples = samplesOf(guide('quickstart')).flat();
    const commands = samples.filter(({ language }) => language === 'sh').map(({ code }) => code);
    expect(commands).toHaveLength(8);
    const [
      start,
      pack = '',
      install = '',
      settings = '',
      account = '',
      receive = '',
      listen = '',
      send = '',
    ] = commands;
    // The packages are already installed. Instead of `npm start`, the test starts its own build.
    expect(start).toBe('npm ci && npm start\n');
    const server = startServer(workplace, { DATA_DIR: await workplace.directory('data') });
    ends.push(() => server.stop());
    const url = await server.ready();
    const [, key = ''] = /production key +(msg_\w+)/.exec(server.stdout()) ?? [];

    const home = await workplace.directory('home');
    const port = await freePort();
    // Replaces only the values that differ between machines: folder, URL, API key and port.
    const own = (text: string) =>
      text
        .replaceAll('/tmp', home)
        .replaceAll('http://127.0.0.1:3000', url)
        .replaceAll('msg_…', key)
        .replaceAll('4000', String(port));
    const { PATH = '' } = process.env;
    // The environment of a fresh shell, so that npm does not get the test runner's variables.
    const env = {
      PATH,
      HOME: home,
      npm_config_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
    };
    const shell = async (text: string, cwd: string) =>
      (await promisify(execFile)('bash', ['--norc', '-euc', own(text)], { cwd, env })).stdout;
    expect((await shell(pack, ROOT)).trim()).toBe(join(home, 'messaging-gateway-client-1.0.0.tgz'));
    await shell(install, home);
    const folder = join(home, 'hello-gateway');
    expect(JSON.parse(await shell(`${settings}${account}`, folder))).toMatchObject({
      balance: 100_000,
      currency: 'UGX',
    });
    for (const { language, code, before } of samples) {
      const [, name] = /^Put this into `([\w.]+)`:$/.exec(before) ?? [];
      if (language === 'js' && name !== undefined) await writeFile(join(folder, name), own(code));
    }

    /** Runs a command as in a terminal of its own, and collects the output. */
    const terminal = (text: string) => {
      const child = spawn('bash', ['--norc', '-euc', own(`${settings}${text}`)], {
        ...{ cwd: folder, env, detached: true },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      running.push(child);
      const printed: string[] = [];
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (piece) => printed.push(String(piece)));
      return () => printed.join('');
    };
    const receiver = terminal(receive);
    await eventually(() => isListening(port));
    const listener = terminal(listen);
    await eventually(() => listener().includes('Forwarding all events'));
    const sent = await shell(`${settings}${send}`, folder);
    const [first = '', last] = sent.trim().split('\n');
    const [id, ...rest] = first.split(' ');
    expect([...rest, last]).toEqual(['pending', '30', 'UGX', 'delivered']);
    await eventually(() => receiver().includes(`verified sms.sent ${id}\n`));
    await eventually(() => listener().includes(' 200 '));
  });
});

describe('the page of the TypeScript SDK', () => {
  it('has samples that compile', async () => {
    const consumer = await installSdk();
    const samples = samplesOf(PAGE)
      .flat()
      .filter(({ language }) => language === 'ts');
    expect(samples.length).toBeGreaterThan(4);
    const names = samples.map((_, index) => `sample-${index}.ts`);
    const prelude = `import { BalanceError, Gateway, UncertainError } from 'messaging-gateway-client';
      declare const gateway: Gateway;
      console.log(BalanceError, Gateway, UncertainError);`;
    await consumer.write(
      Object.fromEntries(
        samples.map(({ code }, index) => [
          names[index],
          // Add only the imports and variables that the sample lacks.
          `${/import \{ Gateway \}/.test(code) ? '' : /const (gateway|\{ gateway)/.test(code) ? prelude.replace('declare const gateway: Gateway;', '') : prelude}\n${code}`,
        ]),
      ),
    );
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--types',
      '',
      '--lib',
      'es2022,dom',
    ];
    expect(await consumer.run('tsc', [...options, ...names])).toBe('');
    await consumer.remove();
  });

  it('names the class of every error, and the commands and options of the command line', async () => {
    const errors = await readFile(join(ROOT, 'sdk/typescript/src/errors.ts'), 'utf8');
    const classes = [...errors.matchAll(/class (\w+Error) extends GatewayError/g)].map(([, name]) => name);
    expect(classes).toHaveLength(8);
    for (const name of classes) expect(PAGE).toContain(`| \`${name}\``);
    const commands = await readFile(join(ROOT, 'sdk/typescript/src/cli/commands.ts'), 'utf8');
    for (const [, option] of PAGE.matchAll(/ --([a-z-]+)(?= (?:http|sms|ID))/g)) {
      expect(commands).toContain(`--${option}`);
    }
  });
});

async function isListening(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`);
    return true;
  } catch {
    return false;
  }
}
