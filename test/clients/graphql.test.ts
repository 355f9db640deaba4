/** GraphQL clients of others, with the files of docs/guides/graphql.md, against a gateway and its schema as it is. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';

const ROOT = join(import.meta.dirname, '../..');
const TOOLS = join(import.meta.dirname, 'node_modules');
const run = promisify(execFile);
const tool = (name: string) => join(TOOLS, '.bin', name);
const OPTIONS = [
  ...['--noEmit', '--strict', '--skipLibCheck', '--allowJs', '--allowImportingTsExtensions'],
  ...['--target', 'es2023', '--lib', 'es2023,dom', '--module', 'esnext', '--moduleResolution', 'bundler'],
  ...['--types', 'node'],
];

describe('GraphQL clients of others', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let env: Record<string, string>;
  let place: string;
  const projects = new Map<string, string>();
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), 'graphql-clients-'));
    for (const name of ['relay', 'urql', 'apollo', 'codegen']) projects.set(name, await project(name));
    const relay = projects.get('relay') ?? '';
    await mkdir(join(relay, 'src/__generated__'));
    await writeFile(join(relay, 'documents.json'), '{}');
    const compiled = await run(process.execPath, [tool('relay-compiler')], { cwd: relay });
    expect(compiled.stdout + compiled.stderr).not.toMatch(/warn|error/i);
    gateway = await startTestGateway({ GRAPHQL_DOCUMENTS: join(relay, 'documents.json') });
    account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    env = { API: `${gateway.url}/graphql`, TOKEN: token };
    for (let number = 0; number < 4; number++) await send(`Message ${number}`);
    await graphql(
      gateway,
      'mutation { createContact(input: { name: "Ann", email: "ann@a.example" }) { id } }',
      {
        token,
      },
    );
    await eventually(async () => {
      const { body } = await graphql(gateway, '{ messages(filter: { status: DELIVERED }) { totalCount } }', {
        token,
      });
      return body.data.messages.totalCount === 4;
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    if (place) await rm(place, { recursive: true, force: true });
  });

  const send = (message: string) =>
    gateway.call('POST', '/developers/sms', { key: account.key, body: { to: '+256700001000', message } });

  /** Makes a project with a program of test/clients/programs, the schema and the files of the guide. */
  async function project(name: string): Promise<string> {
    const folder = join(place, name);
    await mkdir(join(folder, 'src'), { recursive: true });
    await symlink(TOOLS, join(folder, 'node_modules'), 'junction');
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await cp(join(ROOT, 'schema/schema.graphql'), join(folder, 'schema.graphql'));
    await cp(join(import.meta.dirname, 'programs', name), join(folder, 'src'), { recursive: true });
    const guide = await readFile(join(ROOT, 'docs/guides/graphql.md'), 'utf8');
    for (const [, file = '', code = ''] of guide.matchAll(/`([\w.-]+)`:\n\n```(?:js|json)\n([\s\S]*?)```/g)) {
      const isCache = file.includes('cache');
      if (isCache && !file.includes(name === 'urql' ? 'graphcache' : name)) continue;
      await writeFile(join(folder, isCache ? 'src' : '', file), code);
    }
    return folder;
  }
  const compile = (cwd: string) =>
    run(process.execPath, [join(TOOLS, 'typescript/bin/tsc'), ...OPTIONS, 'src/program.ts'], { cwd });

  /** Runs a program. Sends a message once the program watches. Returns what it printed last. */
  async function result(cwd: string, file: string) {
    const program = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(program, 'exit');
    let printed = '';
    let sending: NodeJS.Timeout | undefined;
    program.stdout.on('data', (piece) => {
      printed += piece;
      // The program does not know when its subscription has begun. So send until it has seen a message.
      if (printed.startsWith('watching')) sending ??= setInterval(() => void send('Watch me'), 200);
    });
    const [code] = await ended;
    clearInterval(sending);
    expect([code, printed]).toEqual([0, expect.anything()]);
    return JSON.parse(printed.trim().split('\n').at(-1) ?? '');
  }

  /** The messages that programs page through: the newest four, whichever these are by then. */
  const FOUR = Array.from({ length: 4 }, () =>
    expect.objectContaining({
      id: expect.any(String),
      to: ['+256700001000'],
      sentBy: expect.objectContaining({ __typename: 'ApiKey', name: 'test' }),
    }),
  );
  const isFourMessages = (messages: readonly { readonly id: string }[]) => {
    expect(messages).toEqual(FOUR);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(4);
  };

  it('Relay compiles, pages, refetches, changes and subscribes, with documents by hash', async () => {
    const cwd = projects.get('relay') ?? '';
    await compile(cwd);
    const rolldown = join(ROOT, 'node_modules/.bin/rolldown');
    await run(process.execPath, [rolldown, 'src/program.ts', '-o', 'program.mjs', '--platform', 'node'], {
      cwd,
    });
    const { messages, renamed, updated } = await result(cwd, 'program.mjs');
    isFourMessages(messages);
    expect([renamed, updated]).toEqual(['Renamed', expect.stringMatching(/^(PENDING|SENT|DELIVERED)$/)]);
  });

  it.each([['urql'], ['apollo']])(
    '%s keeps objects by their id, joins pages, and warns of nothing',
    async (name) => {
      const cwd = projects.get(name) ?? '';
      await compile(cwd);
      const { messages, renamed, updated, warnings } = await result(cwd, 'src/program.ts');
      isFourMessages(messages);
      expect([renamed, updated]).toEqual(['Renamed', expect.stringMatching(/^(PENDING|SENT|DELIVERED)$/)]);
      expect(warnings).toEqual([]);
    },
  );

  it('graphql-codegen makes types of operations, and of the errors of each mutation', async () => {
    const cwd = projects.get('codegen') ?? '';
    await run(process.execPath, [tool('graphql-codegen'), '--config', 'codegen.json'], { cwd });
    await compile(cwd);
    expect(await result(cwd, 'src/program.ts')).toEqual({ sent: 'UGX', refused: 'a wrong number' });
  });
});
