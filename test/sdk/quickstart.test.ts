/** Follows the SDK's page word for word. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { installSdk } from '../support/sdk-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'sdk/typescript/README.md'), 'utf8');

interface Block {
  readonly language: string;
  readonly text: string;
  /** The paragraph before it. */
  readonly before: string;
}
const blocksIn = (text: string): Block[] =>
  [...text.matchAll(/([^\n]*)\n\n```(\w+)\n([\s\S]*?)^```/gm)].map(
    ([, before = '', language = '', code = '']) => ({
      language,
      text: code,
      before,
    }),
  );
const section = (title: string) => PAGE.split(/^## /m).find((part) => part.startsWith(title)) ?? '';

describe('the page of the TypeScript SDK', () => {
  let server: TestGateway;
  let home: string;
  const running: ChildProcess[] = [];
  beforeAll(async () => {
    server = await startTestGateway();
    home = await mkdtemp(join(tmpdir(), 'quickstart-'));
  });
  afterAll(async () => {
    // Each is the leader of a process group, which includes what its shell started.
    for (const child of running) if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
    await server?.stop();
    await rm(home, { recursive: true, force: true });
  });

  it('ends, followed word for word in a clean directory, in a delivered message and a verified webhook', async () => {
    const { key } = await server.createAccount();
    const port = await freePort();
    // Only values that differ between machines are replaced: folder, address, key and port.
    const own = (text: string) =>
      text
        .replaceAll('/tmp', home)
        .replaceAll('http://127.0.0.1:3000', server.url)
        .replaceAll('msg_…', key)
        .replaceAll('4000', String(port));
    const blocks = blocksIn(section('Quickstart'));
    const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => own(text));
    expect(commands).toHaveLength(6);
    const [pack = '', install = '', settings = '', receive = '', listen = '', send = ''] = commands;

    const { PATH = '' } = process.env;
    // npm as in a fresh shell, without the test runner's environment.
    const env = {
      PATH,
      HOME: home,
      npm_config_offline: 'true',
      npm_config_audit: 'false',
      npm_config_fund: 'false',
    };
    const shell = async (text: string, cwd: string) =>
      (await promisify(execFile)('bash', ['--norc', '-euc', text], { cwd, env })).stdout;
    const archive = (await shell(pack, ROOT)).trim();
    expect(archive).toBe(join(home, 'messaging-gateway-client-0.1.0.tgz'));
    await shell(install, home);
    const folder = join(home, 'hello-gateway');
    for (const { language, text, before } of blocks) {
      const [, name] = /Put this into `([\w.]+)`:$/.exec(before) ?? [];
      if (language === 'js' && name !== undefined) await writeFile(join(folder, name), own(text));
    }

    /** A terminal with a running command, and its output. */
    const terminal = (text: string) => {
      const child = spawn('bash', ['--norc', '-euc', `${settings}${text}`], {
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

  it('has samples that compile', async () => {
    const consumer = await installSdk();
    const samples = blocksIn(PAGE).filter(({ language }) => language === 'ts');
    expect(samples.length).toBeGreaterThan(4);
    const names = samples.map((_, index) => `sample-${index}.ts`);
    const prelude = `import { BalanceError, Gateway, UncertainError } from 'messaging-gateway-client';
      declare const gateway: Gateway;
      console.log(BalanceError, Gateway, UncertainError);`;
    await consumer.write(
      Object.fromEntries(
        samples.map(({ text }, index) => [
          names[index],
          // A sample that creates or imports everything it uses needs no preparation.
          `${/const (gateway|\{ gateway)/.test(text) ? prelude.replace('declare const gateway: Gateway;', '') : prelude}\n${text}`,
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
