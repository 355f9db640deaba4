/**
 * Takes the console's pictures for the README: `npm run screenshots`. It starts the built gateway with a new database
 * and fills an account through the APIs. Meanwhile it sets the clocks of gateway and database through a month. The
 * pictures are in docs/screenshots. `npm run screenshots -- all` takes every page instead, in both themes and three widths, into
 * dist/contact-sheet with an index.html that shows them side by side.
 */
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import type { Page } from 'playwright-core';
import { launchChromium } from '../support/chromium.ts';
import { signIn } from '../support/graphql-request.ts';
import { prepareClocks, setBackClocks } from '../support/set-back-clocks.ts';
import { pathsOf } from './routes.ts';
import { createAccount, fillShownAccount } from './shown-account.ts';

const INTO = 'docs/screenshots';
const SHEET = 'dist/contact-sheet';
const WIDTHS = [360, 768, 1440];
const WIDTH = 1440;
const HEIGHT = 900;
const MAX_BYTES = 200_000;
const REFUSING_PORT = 4000;

const built = <Module>(path: string): Promise<Module> => import(join(process.cwd(), 'dist/src', path));
const { compose } = await built<typeof import('../../src/compose.ts')>('compose.js');
const { parseConfig } = await built<typeof import('../../src/config/config.ts')>('config/config.js');
const { startHttpServer } =
  await built<typeof import('../../src/http/http-server.ts')>('http/http-server.js');
const { createLogger } = await built<typeof import('../../src/start/logger.ts')>('start/logger.js');
const { startEmbeddedPostgres } = await built<
  typeof import('../../src/storage/embedded-postgres/embedded-postgres.ts')
>('storage/embedded-postgres/embedded-postgres.js');

await using opened = new AsyncDisposableStack();
const dataDir = await mkdtemp(join(tmpdir(), 'gateway-screenshots-'));
// If this process runs as root, PostgreSQL runs as another user, who must be able to open the folder.
await chmod(dataDir, 0o755);
opened.defer(() => rm(dataDir, { recursive: true, force: true }));

const config = parseConfig({
  DATA_DIR: dataDir,
  PORT: process.env.PORT ?? '3000',
  RATE_LIMIT_PER_MINUTE: '1000000',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
});
const logger = createLogger('error');
const database = await prepareDatabase();
const gateway = await compose(config, logger);
opened.defer(() => gateway.close());
const clocks = opened.use(await setBackClocks(database, [gateway.clock]));
const http = await startHttpServer(gateway, config, logger);
const workers = await gateway.startWorking();
opened.defer(async () => {
  await Promise.all([http.close(5_000), workers.stop(5_000)]);
});
const refusing = createServer((request, response) => {
  request.resume().on('end', () => response.writeHead(503).end('down for maintenance'));
}).listen(REFUSING_PORT, '127.0.0.1');
opened.defer(() => void refusing.close());

const operator = { email: 'operator@gateway.example' };
const system = { kind: 'system', name: 'screenshots' } as const;
const { password } = await gateway.operations.accounts.createOperator.run(system, operator);
const place = {
  url: http.url,
  setBack: (ms: number) => clocks.setBack(ms),
  refusingUrl: `http://127.0.0.1:${REFUSING_PORT}/analytics`,
  operatorToken: await signIn(http, { ...operator, password }),
};
const shown = await fillShownAccount(place);
const newcomer = await createAccount(place, 'Quickstart', 'owner@quickstart.example', 100_000);

const browser = await launchChromium();
opened.defer(() => browser.close());
if (process.argv.includes('all')) await takeAll();
else await takeForReadme();

async function takeForReadme(): Promise<void> {
  await mkdir(INTO, { recursive: true });
  const page = await signedIn(shown.owner);
  await picture(page, '', 'overview', 'Overview');
  await page.emulateMedia({ colorScheme: 'dark' });
  await picture(page, '', 'overview-dark', 'Overview');
  await page.emulateMedia({ colorScheme: 'light' });
  await picture(page, '/?period=30d&group=CHANNEL', 'month', 'Overview');
  await picture(page, '/messages', 'messages', 'Messages', 860);
  await picture(page, `/messages/${shown.messageId}`, 'message', undefined, 940);
  await picture(page, '/webhooks', 'webhooks', 'Webhooks', 620);
  await picture(page, '/api-keys', 'api-keys', 'API keys', 620);
  const first = await signedIn(newcomer.owner);
  await first.goto(`${http.url}/console/start`);
  for (const name of ['Make a key', 'Register it', 'Send it'])
    await first.getByRole('button', { name }).click();
  await first.getByText('4 of 4 done').waitFor();
  await first.evaluate('scrollTo(0, 0)');
  await take(first, 'first-run', 960);
}

/** Takes every page of an owner and of an operator, and writes the contact sheet. */
async function takeAll(): Promise<void> {
  await mkdir(SHEET, { recursive: true });
  const ofOperator = await signedIn({ ...operator, password });
  const ofOwner = await signedIn(shown.owner);
  const rows: string[] = [];
  const paths = [
    ...pathsOf('everybody').map((path) => [ofOwner, path] as const),
    [ofOwner, `/messages/${shown.messageId}`] as const,
    [ofOwner, `/messages?message=${shown.messageId}`] as const,
    ...['/', ...pathsOf('operators'), '/prices'].map((path) => [ofOperator, path] as const),
  ];
  for (const [of, path] of paths) {
    const cells: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of WIDTHS) {
        await of.emulateMedia({ colorScheme });
        await of.setViewportSize({ width, height: HEIGHT });
        await of.goto(`${http.url}/console${path}`);
        await of.getByRole('heading', { level: 1, includeHidden: true }).first().waitFor();
        await of.getByText('Loading').first().waitFor({ state: 'detached' });
        const name = `page${path.replaceAll(/[^a-z0-9]+/g, '-')}-${colorScheme}-${width}.png`;
        await of.screenshot({ path: `${SHEET}/${name}` });
        cells.push(`<td><img src="${name}" alt="" width="${Math.round(width / 3)}"></td>`);
      }
    }
    rows.push(`<tr><th>${path.replace('&', '&amp;')}</th>${cells.join('')}</tr>`);
    console.log(path);
  }
  await writeFile(
    `${SHEET}/index.html`,
    `<!doctype html><title>Pages</title><table>${rows.join('')}</table>`,
  );
}

/** Creates the database, whose clock can be set back. Returns how to connect to it. */
async function prepareDatabase(): Promise<pg.ClientConfig> {
  const postgres = await startEmbeddedPostgres({ dataDir, database: 'gateway', logger });
  await prepareClocks(postgres.connection);
  await postgres.stop();
  return postgres.connection;
}

async function signedIn(person: { email: string; password: string }): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: HEIGHT },
    colorScheme: 'light',
  });
  const opening = await context.newPage();
  await opening.goto(`${http.url}/console/password`);
  await opening.getByLabel('Email').fill(person.email);
  await opening.getByLabel('Password').fill(person.password);
  await opening.getByRole('button', { name: 'Sign in' }).click();
  await opening.getByRole('heading', { name: 'Change password' }).waitFor();
  return opening;
}

async function picture(
  of: Page,
  path: string,
  name: string,
  heading?: string,
  height = HEIGHT,
): Promise<void> {
  await of.goto(`${http.url}/console${path}`);
  await of.getByRole('heading', { level: 1, ...(heading ? { name: heading } : {}) }).waitFor();
  await take(of, name, height);
}

/** Takes a picture in a window of this height, after everything has loaded. */
async function take(of: Page, name: string, height: number): Promise<void> {
  await of.setViewportSize({ width: WIDTH, height });
  await of.getByText('Loading').first().waitFor({ state: 'detached' });
  const path = `${INTO}/${name}.png`;
  await of.screenshot({ path });
  const { size } = await stat(path);
  if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes, more than ${MAX_BYTES}.`);
  console.log(path, size);
}
