import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { verifyWebhook } from '../../src/domain/webhooks/webhook-signature.ts';
import {
  type ConsoleBrowser,
  clickTwiceAtOnce,
  expectAccessible,
  inBrowser,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { inviteMember, signIn } from '../support/graphql.ts';
import { openSql } from '../support/sql.ts';
import type { ReceivedHook } from '../support/webhook-receiver.ts';
import { startWebhookBench } from '../support/webhooks.ts';

/** The page with the verification code. test/contract/webhook-verification.test.ts runs its code on real deliveries. */
const DOCUMENTED = readFileSync('docs/guides/webhooks.md', 'utf8');
const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;

describe('webhooks in the console', () => {
  let bench: Awaited<ReturnType<typeof startWebhookBench>>;
  let browser: ConsoleBrowser;
  let directory: string;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'console-webhooks-'));
    bench = await startWebhookBench({ SERVICE_NAME: 'Acme' });
    browser = await startConsoleBrowser(bench.gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await bench?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const rows = (page: Page, status: string): Locator =>
    page.getByRole('table').getByRole('row').filter({ hasText: status });
  const shows = (page: Page, status: string, count: number) =>
    eventually(async () => (await rows(page, status).count()) === count);
  const isFocused = (field: Locator) =>
    eventually(() => field.evaluate((element) => element === element.ownerDocument.activeElement));

  /** Runs verification code from the console's page on a delivery. Returns the result. */
  function verdict(language: 'TypeScript' | 'Python', code: string, secret: string, hook: ReceivedHook) {
    const name = /X-\w+-Signature/.exec(code)?.[0] ?? '';
    const header = String(hook.headers[name.toLowerCase()]);
    const body = hook.raw.toString('base64');
    const [file, command, call] =
      language === 'TypeScript'
        ? [
            'check.ts',
            process.execPath,
            'console.log(isGenuine(secret, header, Buffer.from(body, "base64")));',
          ]
        : ['check.py', 'python3', 'import base64\nprint(is_genuine(secret, header, base64.b64decode(body)))'];
    const values = Object.entries({ secret, header, body }).map(
      ([key, value]) => `${language === 'TypeScript' ? 'const ' : ''}${key} = ${JSON.stringify(value)}`,
    );
    writeFileSync(join(directory, file), `${code}\n${values.join('\n')}\n${call}\n`);
    return execFileSync(command, [join(directory, file)])
      .toString()
      .trim()
      .toLowerCase();
  }

  inBrowser(
    'a webhook is registered after a bad URL, its secret is shown once, and its code verifies the test event',
    async () => {
      const account = await bench.gateway.createAccount();
      const receiver = await bench.receiving();
      const { page, faults } = await browser.open({ person: account, path: '/webhooks' });
      await page.getByText('A webhook is a URL of yours').waitFor();
      await expectAccessible(page);
      await page.getByRole('link', { name: 'Register the first' }).click();
      await page.getByRole('heading', { name: 'New webhook' }).waitFor();
      await page.getByLabel('Sample of', { exact: true }).selectOption('sms.failed');
      await page.getByRole('figure', { name: 'sample of sms.failed' }).getByText('"errorCode"').waitFor();

      const url = page.getByLabel('URL');
      await page.getByLabel('Description').fill('shop');
      await url.fill('https://10.0.0.1/hook');
      await page.getByRole('button', { name: 'Register' }).click();
      const fault = page.getByText('must name at least one event');
      await fault.waitFor();
      // Above the list, whose first box has the focus, not below it.
      const [faultAt, boxAt] = await Promise.all(
        [fault, page.getByLabel('sms.sent', { exact: true })].map((part) => part.boundingBox()),
      );
      expect(faultAt!.y).toBeLessThan(boxAt!.y);
      await page.getByRole('code').getByText('switched_off', { exact: true }).waitFor();
      await page.getByLabel('sms.sent', { exact: true }).check();
      await page.getByRole('button', { name: 'Register' }).click();
      await page.getByText('does not resolve to a public address').waitFor();
      await isFocused(url);
      await expectAccessible(page);
      await url.fill('https://nowhere.invalid/hook');
      await page.keyboard.press('Enter');
      await page.getByText('does not resolve to a public address').waitFor();
      expect(await url.inputValue()).toBe('https://nowhere.invalid/hook');
      expect(await page.getByLabel('Description').inputValue()).toBe('shop');
      expect(await page.getByLabel('sms.sent', { exact: true }).isChecked()).toBe(true);
      await url.fill(receiver.url);
      await page.keyboard.press('Enter');

      const dialog = page.getByRole('dialog', { name: "Your webhook's secret" });
      const secret = await dialog.getByRole('figure', { name: 'signing secret' }).locator('code').innerText();
      expect(secret).toMatch(/^whsec_/);
      await dialog.getByRole('button', { name: 'Copy signing secret' }).click();
      await dialog.getByRole('button', { name: 'Copied signing secret' }).waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
      const codeOf = async (language: string) =>
        (await dialog
          .getByRole('figure', { name: `${language} code` })
          .locator('code')
          .textContent()) ?? '';
      const typescript = await codeOf('TypeScript');
      expect(typescript).toContain('X-Acme-Signature');
      await expectAccessible(page);
      await dialog.getByRole('tab', { name: 'TypeScript' }).focus();
      await page.keyboard.press('ArrowRight');
      const python = await codeOf('Python');
      await page.keyboard.press('ArrowRight');
      const php = await codeOf('PHP');
      for (const code of [typescript, python, php]) {
        expect(DOCUMENTED).toContain(code.replaceAll('X-Acme-', 'X-Service-'));
      }
      await dialog.getByText('HTTP_X_ACME_SIGNATURE').waitFor();
      await page.keyboard.press('Escape');
      expect(await dialog.isVisible()).toBe(true);
      await dialog.getByRole('button', { name: 'I have copied it' }).click();
      await page.getByRole('heading', { name: receiver.url }).waitFor();
      expect(await page.content()).not.toContain(secret);

      await page.getByRole('button', { name: 'Send test event' }).click();
      const result = page.getByRole('region', { name: 'Test it' });
      await result.getByText('Success').waitFor();
      expect(await result.innerText()).toMatch(/Answer\s+200[\s\S]*Duration\s+[\d,]+ ms/);
      await result.getByRole('figure', { name: 'response body' }).getByText('ok').waitFor();
      await shows(page, 'webhook.test', 1);
      await expectAccessible(page);
      const hook = await receiver.waitFor(({ body }) => body.event === 'webhook.test');
      expect(verdict('TypeScript', typescript, secret, hook)).toBe('true');
      expect(verdict('TypeScript', typescript, `${secret}x`, hook)).toBe('false');
      if (HAS_PYTHON) expect(verdict('Python', python, secret, hook)).toBe('true');
      expect(faults).toEqual([]);
    },
  );

  inBrowser('failed deliveries appear live; one is retried, then all, and the page shows it', async () => {
    const account = await bench.gateway.createAccount();
    let isBroken = true;
    const receiver = await bench.receiving(() => (isBroken ? 500 : 200));
    const { id } = await bench.register(account, { url: receiver.url, maxRetries: 0 });
    const { page, faults } = await browser.open({ person: account, path: `/webhooks/${id}` });
    await page.getByText('No deliveries yet').waitFor();
    const messageId = await bench.sendSms(account);
    await shows(page, 'answered 500', 1);
    await bench.sendSms(account);
    await shows(page, 'Failed', 2);
    await page.getByText('0 succeeded · 2 failed · 0 pending').waitFor();
    await page.getByText('Failing', { exact: true }).waitFor();
    const reason = page.getByText('The newest delivery failed: answered 500.');
    await reason.waitFor();
    await expectAccessible(page);

    isBroken = false;
    await rows(page, 'Failed').last().getByRole('button', { name: 'Retry' }).click();
    await shows(page, 'Success', 1);
    await rows(page, 'Success').getByRole('link').click();
    await page.getByRole('heading', { name: 'sms.sent' }).waitFor();
    await shows(page, 'answered 500', 1);
    const attempts = page.getByRole('region', { name: 'Attempts' });
    expect(await attempts.getByRole('row').count()).toBe(3);
    const payload = await page.getByRole('figure', { name: 'payload' }).locator('code').textContent();
    expect(JSON.parse(payload ?? '')).toMatchObject({ event: 'sms.sent', messageId });
    await page.getByRole('figure', { name: 'response body' }).getByText('ok').waitFor();
    const link = page.getByRole('link', { name: 'SMS to +256700123456' });
    expect(await link.getAttribute('href')).toBe(`/console/messages/${messageId}`);
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Deliver again' }).focus();
    await page.keyboard.press('Enter');
    await eventually(async () => (await attempts.getByRole('row').count()) === 4);

    await page.getByRole('link', { name: receiver.url }).click();
    await shows(page, 'Failed', 1);
    isBroken = true;
    for (const _ of [1, 2]) await bench.sendSms(account);
    await shows(page, 'Failed', 3);
    isBroken = false;
    const since = page.getByLabel('Since');
    await since.fill('');
    await page.getByRole('button', { name: 'Retry all failed' }).click();
    await page.getByText('Give a time in the past.').waitFor();
    await isFocused(since);
    await since.fill('2026-01-01T00:00');
    await page.getByRole('button', { name: 'Retry all failed' }).click();
    await page.getByText('3 deliveries queued.').waitFor();
    await shows(page, 'Success', 4);
    await page.getByText('4 succeeded · 0 failed · 0 pending').waitFor();
    await page.getByText('Healthy', { exact: true }).waitFor();
    expect(await reason.count()).toBe(0);

    await page.getByLabel('Status', { exact: true }).selectOption('FAILED');
    await page.getByText('Nothing fits').waitFor();
    expect(page.url()).toContain('status=FAILED');
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByLabel('Event', { exact: true }).selectOption('sms.sent');
    await shows(page, 'Success', 4);
    expect(faults).toEqual([]);
  });

  inBrowser(
    'a selection of deliveries is sent again after one question, and what was left is named (R411)',
    async () => {
      const account = await bench.gateway.createAccount();
      let answer: () => number | Promise<number> = () => 500;
      const receiver = await bench.receiving(() => answer());
      const { id } = await bench.register(account, { url: receiver.url, maxRetries: 0 });
      for (const _ of [1, 2, 3]) await bench.sendSms(account);
      const { page, faults } = await browser.open({ person: account, path: `/webhooks/${id}` });
      await shows(page, 'Failed', 3);
      const retry = page.getByRole('button', { name: 'Retry selected' });
      const dialog = page.getByRole('dialog');
      const boxIn = (status: string, at: number) => rows(page, status).nth(at).getByRole('checkbox');
      await page.getByText('0 selected').waitFor();
      expect(await retry.getAttribute('aria-disabled')).toBe('true');
      await retry.focus();
      await page.keyboard.press('Enter');
      expect(await dialog.count()).toBe(0);

      await boxIn('Failed', 0).focus();
      await page.keyboard.press('Space');
      await page.getByText('1 selected').waitFor();
      const all = page.getByRole('checkbox', { name: 'Select all shown' });
      expect(await all.evaluate((box) => (box as unknown as { indeterminate: boolean }).indeterminate)).toBe(
        true,
      );
      await all.click();
      await page.getByText('3 selected').waitFor();
      await boxIn('Failed', 0).click();
      await page.getByText('2 selected').waitFor();
      expect(new URL(page.url()).pathname).toBe(`/console/webhooks/${id}`);
      await expectAccessible(page);

      answer = () => 200;
      await retry.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Retry 2 deliveries?' }).waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await isFocused(retry);
      expect(receiver.received).toHaveLength(3);
      await page.keyboard.press('Enter');
      const confirm = dialog.getByRole('button', { name: 'Retry 2 deliveries' });
      const asked = await clickTwiceAtOnce(confirm, 'RedeliverMany');
      await page.getByText('2 deliveries queued.').waitFor();
      expect(asked()).toBe(1);
      await shows(page, 'Success', 2);
      await page.getByText('0 selected').waitFor();
      expect(receiver.received).toHaveLength(5);

      await boxIn('Failed', 0).click();
      await retry.click();
      await page.getByText('1 delivery queued.').waitFor();
      await shows(page, 'Success', 3);

      const held = Promise.withResolvers<number>();
      answer = () => held.promise;
      const [{ id: underWay }] = (await bench.deliveries(account, id)).data;
      await bench.call(account, 'POST', `/${id}/deliveries/${underWay}/retry`);
      await eventually(() => receiver.received.length === 7);
      await shows(page, 'Retrying', 1);
      await all.click();
      await retry.click();
      await dialog.getByText('has accepted 2 of them before').waitFor();
      await dialog.getByRole('button', { name: 'Retry 3 deliveries' }).click();
      await page.getByText('1 delivery not sent again:').waitFor();
      await page.getByText('Its next attempt is due already or under way.').waitFor();
      await expectAccessible(page);
      held.resolve(200);
      await eventually(() => receiver.received.length === 9);
      await shows(page, 'Success', 3);
      const posts = receiver.received.filter(({ headers }) => headers['x-acme-delivery'] === underWay);
      expect(posts).toHaveLength(3);
      expect(faults).toEqual([]);
    },
  );

  inBrowser(
    'a webhook is paused after a confirmation, and gets the missed events when it is resumed',
    async () => {
      const account = await bench.gateway.createAccount();
      let isBroken = true;
      const receiver = await bench.receiving(() => (isBroken ? 503 : 200));
      const { id } = await bench.register(account, { url: receiver.url, maxRetries: 5 });
      const { page, faults } = await browser.open({ person: account, path: `/webhooks/${id}` });
      await bench.sendSms(account);
      await shows(page, 'Retrying', 1);
      await page
        .getByRole('table')
        .getByText(/^(in \d+ s|due now)$/)
        .waitFor();

      await page.getByRole('button', { name: 'Pause' }).click();
      const dialog = page.getByRole('dialog', { name: 'Pause this webhook?' });
      await dialog.getByText('1 delivery still pending will fail').waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await page.keyboard.press('Enter');
      await dialog.getByRole('button', { name: 'Pause it' }).click();
      await page.getByText('It is paused: nothing is posted.').waitFor();
      await page.getByText('Resume the webhook first.').waitFor();
      expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0);
      await expectAccessible(page);
      isBroken = false;
      const missed = await bench.sendSms(account);
      const feed = () => bench.gateway.call('GET', '/developers/events', { key: account.key });
      await eventually(async () => (await feed()).body.data.length === 2);
      await shows(page, 'Failed', 1);

      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByRole('button', { name: 'Retry all failed' }).click();
      await page.getByText('2 deliveries queued.').waitFor();
      await shows(page, 'Success', 2);
      expect(receiver.received.map(({ body }) => body.messageId)).toContain(missed);
      expect(faults).toEqual([]);
    },
  );

  inBrowser('a webhook is changed and restored, its secret rotated, and it is deleted', async () => {
    const account = await bench.gateway.createAccount();
    let isBroken = false;
    const receiver = await bench.receiving(() => (isBroken ? 500 : 200));
    const { id, secret } = await bench.register(account, { url: receiver.url, description: 'shop' });
    const { page, faults } = await browser.open({ person: account, path: '/webhooks' });
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByRole('tab', { name: 'Settings' }).click();
    const form = page.getByRole('form', { name: 'Change the webhook' });
    await form.getByLabel('URL').fill('https://10.0.0.1/');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('does not resolve to a public address').waitFor();
    expect(await form.getByLabel('URL').inputValue()).toBe('https://10.0.0.1/');
    await expectAccessible(page);
    await form.getByLabel('URL').fill(receiver.url);
    await form.getByLabel('Description').fill('x'.repeat(501));
    await page.keyboard.press('Enter');
    await form.getByText('must have at most 500 characters').waitFor();
    await form.getByLabel('Description').fill('bookshop');
    await form.getByLabel('sms.failed').focus();
    await page.keyboard.press('Space');
    await form.getByLabel('Retries').selectOption('5');
    await form.getByRole('button', { name: 'Save' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Saved; it holds from the next attempt on.').waitFor();
    const registered = async () => (await bench.call(account, 'GET', `/${id}`)).body.webhook;
    expect(await registered()).toMatchObject({
      url: receiver.url,
      description: 'bookshop',
      events: ['sms.sent', 'sms.failed'],
      maxRetries: 5,
    });
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await form.getByLabel('Description').inputValue()) === 'shop');
    expect(await registered()).toMatchObject({ description: 'shop', events: ['sms.sent'], maxRetries: 3 });

    await page.getByRole('tab', { name: 'Secret' }).click();
    await page.getByText('signed with it from their next attempt on').waitFor();
    await expectAccessible(page);
    await page.getByLabel('The old secret still signs').selectOption('one hour');
    await page.getByRole('button', { name: 'Rotate' }).click();
    await page.getByRole('button', { name: 'Rotate now' }).click();
    const shown = page.getByRole('dialog', { name: "Your webhook's new secret" });
    const next = await shown.getByRole('figure', { name: 'signing secret' }).locator('code').innerText();
    await shown.getByRole('button', { name: 'I have copied it' }).click();
    await shown.waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(next);
    isBroken = true;
    await bench.sendSms(account);
    const { headers, raw } = await receiver.waitFor(({ body }) => body.event === 'sms.sent');
    const isSignedWith = (key: string, header = 'x-acme-signature') =>
      verifyWebhook(key, String(headers[header]), raw, Date.now() / 1000);
    expect([isSignedWith(next), isSignedWith(secret)]).toEqual([true, false]);
    expect(isSignedWith(secret, 'x-acme-previous-signature')).toBe(true);

    await page.getByRole('tab', { name: 'Deliveries' }).click();
    await shows(page, 'Retrying', 1);
    const path = await rows(page, 'Retrying').getByRole('link').getAttribute('href');
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete this webhook?' });
    await dialog.getByText('1 delivery still pending will be canceled').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect((await registered()).isActive).toBe(true);
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Delete for good' }).click();
    await page.getByText('No webhooks yet').waitFor();
    await page.goto(`${bench.gateway.url}${path}`);
    await page.getByText('Canceled').waitFor();
    await page.getByText('deleted', { exact: true }).waitFor();
    expect(
      await page
        .getByRole('main')
        .getByRole('button', { name: /Retry|again/ })
        .count(),
    ).toBe(0);
    expect(faults).toEqual([]);
  });

  inBrowser('deliveries are paged, a disabled webhook says why, and an eleventh is refused', async () => {
    const account = await bench.gateway.createAccount();
    const receiver = await bench.receiving();
    const { id } = await bench.register(account, { url: receiver.url });
    await Promise.all(Array.from({ length: 25 }, () => bench.sendSms(account)));
    await eventually(() => receiver.received.length === 25);
    const { page, faults } = await browser.open({ person: account, path: `/webhooks/${id}` });
    await shows(page, 'sms.sent', 20);
    await page.getByRole('button', { name: 'Next' }).click();
    await shows(page, 'sms.sent', 5);
    await page.getByRole('button', { name: 'Previous' }).click();
    await shows(page, 'sms.sent', 20);

    await using sql = await openSql(bench.gateway.database);
    const disabledReason = 'Every attempt since yesterday failed.';
    await sql.query('UPDATE webhooks SET is_active = false, disabled_reason = $2 WHERE id = $1', [
      id,
      disabledReason,
    ]);
    await page.reload();
    await page.getByText(`The gateway switched it off. ${disabledReason}`).waitFor();
    for (let count = 1; count < 10; count += 1) await bench.register(account, { url: receiver.url });
    await page.goto(`${bench.gateway.url}/console/webhooks`);
    await page.getByText('All 10 webhooks of this environment are in use').waitFor();
    await page.getByText('100% succeeded').waitFor();
    await rows(page, 'Disabled').getByText(disabledReason).waitFor();
    await expectAccessible(page);
    await page.goto(`${bench.gateway.url}/console/webhooks/new`);
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('sms.sent', { exact: true }).check();
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('alert').getByText('at most 10 webhooks').waitFor();
    expect(await page.getByLabel('URL').inputValue()).toBe(receiver.url);
    expect(faults).toEqual([]);
  });

  inBrowser('a viewer reads webhooks and deliveries and learns that they cannot change them', async () => {
    const account = await bench.gateway.createAccount();
    const viewer = await inviteMember(bench.gateway, await signIn(bench.gateway, account), 'VIEWER');
    const receiver = await bench.receiving(() => 500);
    await bench.register(account, { url: receiver.url, maxRetries: 0 });
    await bench.sendSms(account);
    await receiver.waitFor(() => true);
    const { page, faults } = await browser.open({ person: viewer, path: '/webhooks' });
    await page.getByText('Your role can read webhooks, not register them.').waitFor();
    expect(await page.getByRole('link', { name: 'Register a webhook' }).count()).toBe(0);
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByText('Your role, Viewer, can read this webhook, not change it.').waitFor();
    await shows(page, 'Failed', 1);
    const buttons = await page.getByRole('main').getByRole('button').allInnerTexts();
    expect(buttons.filter((name) => name !== 'Search' && !name.startsWith('Copy'))).toEqual([]);
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Deliveries', 'Secret']);
    await expectAccessible(page);
    await rows(page, 'Failed').getByRole('link').click();
    await page.getByRole('figure', { name: 'payload' }).waitFor();
    expect(await page.getByRole('button', { name: 'Retry now' }).count()).toBe(0);
    await page.goto(`${bench.gateway.url}/console/webhooks/new`);
    await page.getByText('Your role, Viewer, cannot open this page.').waitFor();
    expect(faults).toEqual([]);
  });
});
