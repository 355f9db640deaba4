/**
 * Rolls two processes over from an earlier release to this one and back, under load, as docs/operations/upgrading.md
 * says.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { databaseUrl } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { signIn } from '../support/graphql-request.ts';
import { startPostgresVersion, type TestPostgres } from '../support/postgres-versions.ts';
import { hasAll, sendAll } from '../support/senders.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  runCli,
  type ServerProcess,
  startServer,
  type Workplace,
} from '../support/server-process.ts';

/** The earlier release: a commit before the migrations 0080 to 0141. */
const BEFORE = 'afe2a71f14a05ea51bdfc9d60de2ce768ba2feba';
const ROOT = join(import.meta.dirname, '../..');
/** Number of messages that must be accepted between two steps. */
const BETWEEN = 150;
const LIST = '{ messages(first: 20) { nodes { id status } } viewer { email } }';
/** The only refusal that callers may see. */
const MAY_BE_REFUSED = /^503 \w+, Retry-After$/;

jest.setTimeout(1_200_000);

let workplace: Workplace;
let postgres: TestPostgres;
const servers = new Set<ServerProcess>();
beforeAll(async () => {
  workplace = await buildWorkplace();
  postgres = await startPostgresVersion();
});
afterAll(async () => {
  await Promise.all([...servers].map((server) => server.kill()));
  await postgres?.stop();
  await workplace?.remove();
});

/** Builds the earlier release from the history of git, with the packages that are installed now. */
async function buildBefore(): Promise<string> {
  const run = promisify(execFile);
  const into = join(workplace.path, 'before');
  await mkdir(into);
  const archive = join(workplace.path, 'before.tar');
  await run('git', ['archive', '--output', archive, BEFORE], { cwd: ROOT });
  await run('tar', ['-xf', archive, '-C', into]);
  await symlink(join(ROOT, 'node_modules'), join(into, 'node_modules'), 'junction');
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', '--noCheck'], {
    cwd: into,
  });
  // The console's pages do not matter here.
  await cp(join(ROOT, 'dist/console'), join(into, 'dist/console'), { recursive: true }).catch(
    () => undefined,
  );
  await writeFile(join(into, 'dist/.built'), '');
  return into;
}

/** Reads a list at all processes in turn, as a dashboard does. Collects the refusals. */
function readLists(urls: readonly string[], token: string) {
  const refused = new Set<string>();
  let isLive = true;
  let lists = 0;
  const reader = (async () => {
    for (let number = 0; isLive; number += 1) {
      await sleep(50);
      try {
        const response = await fetch(`${urls[number % urls.length]}/graphql`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
          body: JSON.stringify({ query: LIST }),
        });
        const { errors } = (await response.json()) as { errors?: unknown };
        const retry = response.headers.has('Retry-After') ? ', Retry-After' : '';
        if (response.status !== 200 || errors !== undefined)
          refused.add(`${response.status} ${errors === undefined ? 'without' : 'with'}_errors${retry}`);
        else lists += 1;
      } catch (error) {
        const { code } = Object((error as Error).cause) as { code?: unknown };
        if (code !== 'ECONNREFUSED') refused.add(`no answer: ${code}`);
      }
    }
  })();
  return {
    refused,
    lists: () => lists,
    stop: async () => {
      isLive = false;
      await reader;
    },
  };
}

it('rolls over to this release and back under load, and loses nothing', async () => {
  const before: Workplace = { ...workplace, build: await buildBefore() };
  const variables = {
    DATABASE_URL: databaseUrl(postgres.connection),
    DATA_DIR: await workplace.directory('data'),
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '1000000',
    RATE_LIMIT_SESSION_PER_MINUTE: '1000000',
    RATE_LIMIT_POINTS_PER_MINUTE: '100000000',
  };
  const running: { readonly server: ServerProcess; readonly url: string }[] = [];
  /** The addresses that a proxy would pass requests to. */
  const urls: string[] = [];
  const begin = async (release: Workplace) => {
    const server = startServer(release, variables);
    servers.add(server);
    const url = await server.ready();
    await eventually(async () => (await fetch(`${url}/health/ready`)).status === 200);
    running.push({ server, url });
    urls.push(url);
    return server;
  };
  /** Takes the process that has run for longest out of the proxy, and ends it when it has answered all requests. */
  const endOldest = async () => {
    const { server, url } = running.shift()!;
    urls.splice(urls.indexOf(url), 1);
    const lists = dashboard.lists();
    await eventually(() => load.underWay(url) === 0 && dashboard.lists() > lists + 1);
    const { code, stderr } = await server.stop();
    servers.delete(server);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.not.stringMatching(/"level":(50|60|"error")/),
    });
  };
  const versions = async () =>
    query<{ name: string }>(postgres.connection, 'SELECT name FROM schema_migrations ORDER BY name');

  const first = await begin(before);
  const owner = quickstartOf(first.stdout());
  const topup = ['account', 'topup', '--account', owner.accountId, '--amount', '1000000000'];
  expect(await runCli(before, topup, variables)).toMatchObject({ code: 0 });
  await begin(before);
  const token = await signIn({ url: urls[0]! }, owner);
  const load = sendAll(urls, { key: owner.key });
  const dashboard = readLists(urls, token);
  /** Waits until more messages were accepted and more lists were read. */
  const goOn = async () => {
    const [messages, lists] = [load.accepted.size + BETWEEN, dashboard.lists() + 5];
    await eventually(() => load.accepted.size >= messages && dashboard.lists() >= lists, 180_000);
  };
  await goOn();
  const known = await versions();
  expect(await runCli(workplace, ['migrate'], variables)).toMatchObject({ code: 0 });
  expect((await versions()).length).toBeGreaterThan(known.length);
  await goOn();
  for (const release of [workplace, workplace, before, before]) {
    await begin(release);
    await goOn();
    await endOldest();
    await goOn();
  }
  await load.stop();
  await dashboard.stop();
  for (const refusal of [...load.refused, ...dashboard.refused]) expect(refusal).toMatch(MAY_BE_REFUSED);
  await hasAll(postgres.connection, owner.accountId, load.accepted);
  process.stderr.write(
    `${load.accepted.size} messages and ${dashboard.lists()} lists; refused: ${[...load.refused, ...dashboard.refused].join('; ') || 'none'}\n`,
  );
});
