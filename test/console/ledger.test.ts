import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, inviteMember, signIn } from '../support/graphql.ts';

/** Number of ledger entries. It is more than the export loads with one request. */
const TOP_UPS = 230;
const QUERY = `query ($after: String) { ledger(first: 100, after: $after) {
  nodes { seq createdAt kind amount balanceAfter messageId reference message { to }
    actor { ... on ApiKey { keyId name } ... on System { name } } }
  pageInfo { hasNextPage endCursor } } }`;

describe('the ledger and the audit log in the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
    const body = { to: '+256700123456', message: 'Hello' };
    await gateway.call('POST', '/developers/sms', { key: account.key, body });
    const system = { kind: 'system', name: 'test' } as const;
    for (let number = 0; number < TOP_UPS; number += 1) {
      await gateway.parts.operations.accounts.topUp.run(system, {
        accountId: account.accountId,
        amount: 1,
        reference: `=payment "${number}"`,
      });
    }
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  /** Makes the expected lines of the CSV file from the entries that the API returns. */
  const expectedLines = async () => {
    const lines = ['seq,createdAt,kind,amount,balanceAfter,currency,messageId,reference,actor,for,by'];
    let after: string | null = null;
    do {
      const { body } = await graphql(gateway, QUERY, { token, variables: { after } });
      const pageInfo: { hasNextPage: boolean; endCursor: string } = body.data.ledger.pageInfo;
      const { nodes } = body.data.ledger;
      for (const entry of nodes) {
        const { seq, createdAt, kind, amount, balanceAfter, messageId, reference } = entry;
        const { keyId, name } = entry.actor ?? {};
        const actor = keyId ? `key:${keyId}` : name ? `system:${name}` : '';
        const by = keyId ? name : name ? `the gateway (${name})` : '';
        const quoted = reference === null ? '' : `"'${reference.replaceAll('"', '""')}"`;
        const about = entry.message ? `SMS to ${entry.message.to}` : quoted;
        lines.push(
          `${seq},${createdAt},${kind},${amount},${balanceAfter},UGX,${messageId ?? ''},${quoted},${actor},${about},${by}`,
        );
      }
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    } while (after !== null);
    return lines;
  };

  inBrowser('a viewer reads the ledger page by page, and follows a charge to its message', async () => {
    const viewer = await inviteMember(gateway, token, 'VIEWER');
    const { page, faults } = await browser.open({ person: viewer, path: '/ledger' });
    await page.getByText('232 in all').waitFor();
    await expectAccessible(page);
    expect(await page.getByRole('row').nth(1).innerText()).toMatch(
      /^232\s+Top-up\s+UGX\s1\s+UGX\s100,200\s+=payment "229"\s+the gateway \(test\)/,
    );
    for (let slice = 0; slice < 4; slice += 1) {
      const shown = await page.getByRole('row').nth(1).innerText();
      await page.getByRole('button', { name: 'Next' }).click();
      await page.getByText(shown.split(/\s/)[0] ?? '', { exact: true }).waitFor({ state: 'detached' });
    }
    const charge = page.getByRole('row', { name: /Charge/ });
    expect(await charge.innerText()).toMatch(
      /^2\s+Charge\s+-UGX\s30\s+UGX\s99,970\s+SMS to \+256700123456\s+key test/,
    );
    await charge.getByRole('link', { name: 'SMS to +256700123456' }).click();
    await page.waitForURL('**/console/messages/*');
    await page.getByText('+256700123456').first().waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('an export holds all entries like the API, and can be canceled', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/ledger' });
    await page.getByText('232 in all').waitFor();

    // The export's second request waits until the test has cancelled the export.
    let letOn = () => {};
    const held = new Promise<void>((resolve) => {
      letOn = resolve;
    });
    let asked = 0;
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('"Ledger_first":100')) asked += 1;
      if (asked === 2) await held;
      await route.continue().catch(() => undefined);
    });
    const hasFocus = (text: string) =>
      eventually(async () =>
        String(await page.evaluate('document.activeElement.textContent')).startsWith(text),
      );
    await page.getByRole('button', { name: 'Export as CSV' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('100 of 232').waitFor();
    await page.getByRole('progressbar', { name: 'Rows exported' }).waitFor();
    await hasFocus('Export as CSV');
    await expectAccessible(page);
    await page.keyboard.press('Tab');
    await hasFocus('Cancel');
    await page.keyboard.press('Enter');
    letOn();
    await page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' });
    await hasFocus('Export as CSV');
    expect(asked).toBe(2);
    await page.unroute('**/graphql');

    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export as CSV' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/^ledger-\d{4}-\d\d-\d\d\.csv$/);
    const file = await readFile(await download.path(), 'utf8');
    expect(file.startsWith('\uFEFF')).toBe(true);
    expect(file.slice(1).trimEnd().split('\r\n')).toEqual(await expectedLines());

    // A failed export shows an error and downloads no partial file.
    await page.route('**/graphql', (route) =>
      route.fulfill({
        json: { errors: [{ message: 'Not now.', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] },
      }),
    );
    await page.getByRole('button', { name: 'Export as CSV' }).click();
    await page.getByText('Not now. Nothing was downloaded.').waitFor();
    await page.unroute('**/graphql');
    expect(faults).toEqual([]);
  });

  inBrowser('a period can be shown and exported alone', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/ledger' });
    await page.getByText('232 in all').waitFor();
    const inMs = (ms: number) =>
      new Date(Date.now() + ms - new Date().getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
    const HOUR_MS = 3_600_000;
    await page.getByLabel('From').fill(inMs(HOUR_MS));
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('Nothing fits').waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export as CSV' }).click();
    const file = await readFile(await (await downloading).path(), 'utf8');
    expect(file.slice(1).trimEnd().split('\r\n')).toEqual((await expectedLines()).slice(0, 1));
    await page.getByLabel('From').fill(inMs(-HOUR_MS));
    await page.getByLabel('To', { exact: true }).fill(inMs(HOUR_MS));
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('232 in all').waitFor();
    await page.getByText('What moved the balance in this time').waitFor();
    await page.getByRole('link', { name: 'Clear' }).click();
    await page.getByText('their sum is the balance').waitFor();
    await page.getByRole('button', { name: 'Last month' }).click();
    await page.getByText('Nothing fits').waitFor();
    for (const period of ['Today', 'This month', 'Last 30 days']) {
      await page.getByRole('button', { name: period, exact: true }).click();
      await page.getByRole('button', { name: period, exact: true, pressed: true }).waitFor();
      await page.getByText('232 in all').waitFor();
    }
    expect(new URL(page.url()).search).toBe('?period=30d');
    await page.reload();
    await page.getByRole('button', { name: 'Last 30 days', pressed: true }).waitFor();
    await page.getByRole('button', { name: 'Last 30 days' }).click();
    await page.getByText('their sum is the balance').waitFor();
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser('a new entry appears without a reload', async () => {
    const other = await gateway.createAccount();
    const { page, faults } = await browser.open({ person: other, path: '/ledger' });
    await page.getByRole('row', { name: /Opening/ }).waitFor();
    const body = { to: '+256700123456', message: 'Hello' };
    await gateway.call('POST', '/developers/sms', { key: other.key, body });
    await page.getByRole('row', { name: /Charge/ }).waitFor();
    // The simulator rejects the second number (R226). Its refund names it alone.
    const several = { to: '+256700123456,+256700000001', message: 'Hello' };
    await gateway.call('POST', '/developers/sms', { key: other.key, body: several });
    await page
      .getByRole('row', { name: /Charge/ })
      .getByText('SMS to +256700123456 and 1 more')
      .waitFor();
    await page
      .getByRole('row', { name: /Refund/ })
      .getByText('SMS to +256700000001')
      .waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('the audit log is filtered by action and time, and shows what changed', async () => {
    const { keyId } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    const update = `mutation ($id: ID!) { updateApiKey(keyId: $id, input: { name: "renamed", scopes: [SEND_SMS, READ_MESSAGES] }) { keyId } }`;
    await graphql(gateway, update, { token, variables: { id: keyId } });
    const { page, faults } = await browser.open({ person: account, path: '/audit' });
    await page.getByRole('heading', { name: 'Audit log' }).waitFor();
    await page.getByRole('row').nth(1).waitFor();
    await expectAccessible(page);
    await page.getByLabel('Action').fill('apiKey.update');
    await page.keyboard.press('Enter');
    const row = page.getByRole('row', { name: /changed and renamed key/ });
    await row.waitFor();
    await page.getByText('account.topUp').first().waitFor({ state: 'detached' });
    expect(await page.getByRole('row').count()).toBe(2);
    expect(await row.innerText()).toContain(account.email);
    expect(await row.locator('del').allTextContents()).toEqual(
      expect.arrayContaining([expect.stringContaining('test')]),
    );
    await row.getByText(/changed and renamed key\s+renamed\s+\(before: test\)/).waitFor();
    await row.getByText('apiKey.update').click();
    const changes = await row.locator('dl').innerText();
    expect(changes).toMatch(/name\s+was\s+test.*became\s+renamed/s);
    expect(changes).toMatch(/scopes\s+was\s+SEND_SMS.*became\s+SEND_SMS, READ_MESSAGES/s);
    expect(changes).not.toContain('environment');

    const later = new Date(Date.now() + 3_600_000 - new Date().getTimezoneOffset() * 60_000);
    await page.getByLabel('From').fill(later.toISOString().slice(0, 16));
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByText('Nothing fits').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Clear' }).click();
    await page.getByText('account.topUp').first().waitFor();
    expect(await page.getByLabel('Action').inputValue()).toBe('');
    expect(faults).toEqual([]);
  });
});
