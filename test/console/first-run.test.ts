import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createQuickstart } from '../../src/start/quickstart.ts';
import {
  asks,
  type ConsoleBrowser,
  clickAgain,
  expectAccessible,
  inBrowser,
  signInHere,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';

/** Finds one step of the page by its number. */
const step = (page: Page, number: number) => page.getByRole('region', { name: `Step ${number}:` });
const isDone = (page: Page, number: number) =>
  step(page, number).getByText('Done', { exact: true }).waitFor();
/** Returns the text of the command with this label. */
const command = (page: Page, label: string) =>
  page.getByRole('figure', { name: label, exact: true }).locator('code').innerText();
/** Runs a command in a shell, as if a person had pasted it. Returns the JSON that it prints. */
const inShell = async (text: string, environment: Record<string, string> = {}) => {
  const { PATH = '' } = process.env;
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', text], { env: { PATH, ...environment } });
  return JSON.parse(stdout);
};

/** The languages of the samples whose programs are here. Python and PHP may be missing. */
const LANGUAGES = [
  { language: 'TypeScript', program: process.execPath, extension: 'mts', check: ['--version'] },
  { language: 'Python', program: 'python3', extension: 'py', check: ['--version'] },
  { language: 'PHP', program: 'php', extension: 'php', check: ['-r', 'curl_init();'] },
].filter(({ program, check }) => spawnSync(program, check).status === 0);

describe('the first steps in the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    // Same setting as with `npm start`: webhooks may not go to private IP addresses, except to the gateway's own
    // receiver.
    gateway = await startTestGateway({ WEBHOOK_ALLOWED_NETWORKS: '' });
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser(
    'lead a newcomer from the output of the first start to a delivered message and a received webhook',
    async () => {
      const printed = await createQuickstart(gateway.parts.operations, gateway.url);
      const [, email, password] = /sign in +(\S+) +(\S+)/.exec(printed) ?? [];
      const { page, faults } = await browser.open();
      await signInHere(page, { email: email!, password: password! });
      await page.getByRole('heading', { name: 'First steps' }).waitFor();
      await page.getByText('0 of 4 done').waitFor();
      await expectAccessible(page);

      const hasFocus = (heading: string) =>
        eventually(async () =>
          String(await page.evaluate('document.activeElement.textContent')).endsWith(heading),
        );
      await page.getByRole('button', { name: 'Make a key' }).focus();
      await page.keyboard.press('Enter');
      await isDone(page, 1);
      await hasFocus('Make an API key');
      const key = await command(page, 'API key');
      expect(key).toMatch(/^msg_[0-9a-f]{16}_[0-9a-f]{40}$/);
      expect(await command(page, 'command that sends an SMS')).toContain(key);
      const token = await signIn(gateway, { email: email!, password: password! });
      const { data } = (await graphql(gateway, '{ apiKeys { name scopes } }', { token })).body;
      const scopes = ['SEND_SMS', 'READ_MESSAGES', 'MANAGE_WEBHOOKS'];
      expect(data.apiKeys).toContainEqual({ name: 'First steps', scopes });

      await page.getByLabel('Address').focus();
      await page.keyboard.press('Enter');
      await isDone(page, 2);
      await hasFocus('Register a webhook');
      expect(await command(page, 'webhook secret')).toMatch(/^whsec_/);

      await page.getByLabel('Text').fill('Hello, it’s me');
      await page.keyboard.press('Enter');
      await isDone(page, 3);
      await step(page, 3).getByText('Delivered', { exact: true }).first().waitFor();
      await isDone(page, 4);
      await step(page, 4).getByText('answered 200').waitFor();
      const posted = JSON.parse(await command(page, 'what was posted'));
      expect(posted).toMatchObject({ event: 'sms.sent', channel: 'sms' });
      await page.getByText('4 of 4 done').waitFor();
      await page.getByText('It works from end to end.').waitFor();
      await expectAccessible(page);

      await page.reload();
      await page.getByText('4 of 4 done').waitFor();
      expect(await page.content()).not.toContain(key.slice(-40));
      expect(faults).toEqual([]);
    },
  );

  inBrowser('can each be done with the command that the page shows, and the page notices', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: '/start' });
    const making = await command(page, 'command that makes a key');
    const { data } = await inShell(making.replace('YOUR_PASSWORD', account.password));
    const { key } = data.createApiKey as { key: string };
    await isDone(page, 1);

    const registering = await command(page, 'command that registers a webhook');
    const { webhook } = await inShell(registering, { KEY: key });
    await isDone(page, 2);
    await step(page, 2).getByRole('link', { name: webhook.url }).waitFor();

    await page.getByLabel('The key, for the commands below').fill(key);
    const text = `It's 5 o'clock: "€5" \\o/ $HOME`;
    await page.getByLabel('Text').fill(text);
    const { id } = await inShell(await command(page, 'command that sends an SMS'));
    await isDone(page, 3);
    const token = await signIn(gateway, account);
    const sent = await graphql(gateway, `{ message(id: "${id}") { content } }`, { token });
    expect(sent.body.data).toEqual({ message: { content: text } });
    await isDone(page, 4);

    await inShell(await command(page, 'command that sends a test event'));
    await step(page, 4).getByText('webhook.test').first().waitFor();
    const told = await inShell(await command(page, 'command that shows what was posted'));
    expect(JSON.stringify(told)).toContain('sms.sent');
    expect(faults).toEqual([]);
  });

  inBrowser('can each be done with the programs that the page shows, in each language', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'first-steps-'));
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: '/start' });
    const text = `It's 5 o'clock: "€5" \\o/ $HOME {$x} \\`;
    await page.getByLabel('Text').fill(text);
    const token = await signIn(gateway, account);
    /** Runs the program of a step as a file. Returns the JSON that it prints. */
    const run = async (
      { language, program, extension }: (typeof LANGUAGES)[number],
      at: number,
      does: string,
    ) => {
      const tabs = step(page, at).getByRole('tablist', { name: `Code that ${does}` });
      await tabs.getByRole('tab', { name: language }).click();
      const file = join(directory, `sample.${extension}`);
      await writeFile(file, await command(page, `${language} program that ${does}`));
      const { PATH = '' } = process.env;
      const { stdout } = await promisify(execFile)(program, [file], { env: { PATH, KEY: account.key } });
      return JSON.parse(stdout);
    };
    for (const each of LANGUAGES) {
      const { webhook } = await run(each, 2, 'registers a webhook');
      await isDone(page, 2);
      await step(page, 2).getByRole('link', { name: webhook.url }).waitFor();
      // The webhooks of the languages before have the same address. Wait until the programs name this one.
      const programs = step(page, 4).locator('figure').filter({ hasText: webhook.id });
      await programs.first().waitFor({ state: 'attached' });
      const { id } = await run(each, 3, 'sends an SMS');
      const sent = await graphql(gateway, `{ message(id: "${id}") { content } }`, { token });
      expect([each.language, sent.body.data]).toEqual([each.language, { message: { content: text } }]);
      expect(await run(each, 4, 'sends a test event')).toMatchObject({ success: true });
      const posted = await run(each, 4, 'shows what was posted');
      expect(JSON.stringify(posted)).toContain('webhook.test');
    }
    await expectAccessible(page);
    await rm(directory, { recursive: true });
    expect(faults).toEqual([]);
  });

  inBrowser('say why something is impossible, and keep the input', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: account, path: '/start' });
    await page.getByLabel('Address').fill('http://10.0.0.1/hook');
    await page.getByRole('button', { name: 'Register it' }).click();
    await step(page, 2).locator('[aria-invalid=true]').waitFor();
    expect(await page.getByLabel('Address').inputValue()).toBe('http://10.0.0.1/hook');
    expect(await command(page, 'command that registers a webhook')).toContain('http://10.0.0.1/hook');

    await page.getByLabel('To', { exact: true }).fill('nobody');
    await page.getByRole('button', { name: 'Send it' }).click();
    await step(page, 3).getByRole('alert').or(step(page, 3).locator('[aria-invalid=true]')).first().waitFor();
    expect(await page.getByLabel('To', { exact: true }).inputValue()).toBe('nobody');
    await page.getByLabel('To', { exact: true }).fill('+256700000001');
    await page.getByRole('button', { name: 'Send it' }).click();
    await page.getByText('The simulator rejects numbers ending in 0001.').waitFor();
    await step(page, 3).getByText('To do', { exact: true }).waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser('do each thing once on double clicks and a held Enter', async () => {
    const account = await gateway.createAccount();
    const token = await signIn(gateway, account);
    const sent = async () => {
      const query = '{ messages { totalCount } apiKeys { name } webhooks { url } }';
      const { messages, apiKeys, webhooks } = (await graphql(gateway, query, { token })).body.data;
      const made = apiKeys.filter(({ name }: { name: string }) => name === 'First steps');
      return [messages.totalCount, made.length, webhooks.length];
    };
    const { page, faults } = await browser.open({ person: account, path: '/start' });
    await page.getByRole('button', { name: 'Make a key' }).dblclick();
    await isDone(page, 1);
    await page.getByRole('button', { name: 'Register it' }).dblclick();
    await isDone(page, 2);
    await page.getByRole('button', { name: 'Send it' }).dblclick();
    await isDone(page, 3);
    await page.getByRole('button', { name: 'Send another' }).hover();
    await clickAgain(page);
    expect(await sent()).toEqual([1, 1, 1]);

    await page.getByLabel('Text').fill('Held down');
    await page.keyboard.down('Enter');
    await step(page, 3).getByText('not yet').first().waitFor();
    await step(page, 3).getByText('not yet').first().waitFor({ state: 'detached' });
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await page.getByLabel('Text').fill('The last');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await eventually(async () => (await sent())[0] === 3);
    await step(page, 3).getByText('not yet').first().waitFor();
    await step(page, 3).getByText('not yet').first().waitFor({ state: 'detached' });
    expect(await sent()).toEqual([3, 1, 1]);
    expect(faults).toEqual([]);
  });

  inBrowser('send nothing again when an answer was lost', async () => {
    const account = await gateway.createAccount();
    const { page } = await browser.open({ person: account, path: '/start' });
    let isLost = false;
    await page.route('**/graphql', async (route) => {
      if (isLost || !asks(route.request(), 'FirstRunSms')) return route.continue();
      isLost = true;
      await route.fetch();
      await route.abort();
    });
    const form = page.getByRole('form', { name: 'Send an SMS' });
    await form.getByRole('button').click();
    await form.getByRole('alert').getByText('cannot be reached').waitFor();
    await form.getByRole('button').click();
    await form.getByRole('alert').waitFor({ state: 'detached' });
    await isDone(page, 3);
    const { body } = await gateway.call('GET', '/developers/sms/history', { key: account.key });
    expect(body.data).toHaveLength(1);
  });

  inBrowser('do not offer a viewer what they may not do', async () => {
    const account = await gateway.createAccount();
    const viewer = await inviteMember(gateway, await signIn(gateway, account), 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer });
    await page.getByText('Nothing has been sent yet').waitFor();
    expect(await page.getByRole('link', { name: /first steps/i }).count()).toBe(0);
    await page.goto(`${gateway.url}/console/start`);
    await page.getByText('Your role, Viewer, cannot open this page.').waitFor();
    expect(faults).toEqual([]);
  });
});
