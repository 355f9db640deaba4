import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Locator } from 'playwright-core';
import {
  asks,
  type ConsoleBrowser,
  expectAccessible,
  holdAnswers,
  inBrowser,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

const FOCUSED = 'document.activeElement.textContent';

describe('the frame of the console', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  inBrowser('the menu collapses to icons with tooltips, by key and by button, and stays so', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    const menu = page.getByRole('navigation', { name: 'Pages' });
    const width = async () => (await menu.boundingBox())?.width ?? 0;
    const label = menu.getByText('Messages', { exact: true });
    expect(await width()).toBeGreaterThan(200);
    await page.keyboard.press('[');
    await page.getByRole('button', { name: 'Expand the menu' }).waitFor();
    expect(await width()).toBeLessThan(60);
    expect((await label.boundingBox())?.width).toBe(1);
    await expectAccessible(page);

    // With the keyboard alone: the tooltip names the focused page, Escape hides it, Enter opens the page.
    await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor();
    await menu.getByRole('link', { name: 'Messages' }).focus();
    const tooltip = page.getByRole('tooltip', { name: 'Messages' });
    await tooltip.waitFor({ state: 'attached' });
    await page.keyboard.press('Escape');
    await tooltip.waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    await page.getByRole('tooltip', { name: 'Contacts' }).waitFor({ state: 'attached' });
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Contacts', exact: true }).waitFor();
    await menu.getByRole('link', { name: 'Webhooks' }).hover();
    await page.getByRole('tooltip', { name: 'Webhooks' }).waitFor({ state: 'attached' });
    await expectAccessible(page);

    await page.reload();
    await page.getByRole('button', { name: 'Expand the menu' }).focus();
    expect(await width()).toBeLessThan(60);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Collapse the menu' }).waitFor();
    expect(await width()).toBeGreaterThan(200);
    expect(await page.getByRole('tooltip').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  inBrowser('the menu shows the link of the page, also in a low window', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.setViewportSize({ width: 1280, height: 480 });
    await page.goto(`${gateway.url}/console/security`);
    await page.getByRole('heading', { name: 'Security', exact: true }).waitFor();
    const menu = page.getByRole('navigation', { name: 'Pages' });
    const endOf = async (part: Locator) => {
      const { y, height } = (await part.boundingBox())!;
      return y + height;
    };
    expect(await endOf(menu.getByRole('link', { name: 'Security' }))).toBeLessThanOrEqual(await endOf(menu));
    // A link that is in view does not move the menu.
    const scrolled = () =>
      menu.evaluate((element) => (element as unknown as { scrollTop: number }).scrollTop);
    const before = await scrolled();
    await menu.getByRole('link', { name: 'Audit log' }).press('Enter');
    await page.getByRole('heading', { name: 'Audit log', exact: true }).waitFor();
    expect(await scrolled()).toBe(before);
    expect(faults).toEqual([]);
  });

  inBrowser('a letter that somebody types is no shortcut', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    const search = page.getByLabel('Search', { exact: true });
    await search.focus();
    await page.keyboard.type('[?');
    expect(await search.inputValue()).toBe('[?');
    expect(await page.getByRole('dialog').count()).toBe(0);
    await page.getByRole('button', { name: 'Collapse the menu' }).waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('? lists the shortcuts, and each of them works', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor();
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.waitFor();
    expect(
      (await list.locator('dl > div').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ')),
    ).toEqual([
      'Search Ctrl K',
      'Collapse or expand the menu [',
      'Show this list ?',
      'Close a dialog, a menu or the drawer of a message Esc',
    ]);
    await expectAccessible(page);
    // Behind an open dialog, the menu stays as it is.
    await page.keyboard.press('[');
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Collapse the menu' }).waitFor();
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Search' });
    await palette.waitFor();
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });

    // The menu of the account leads to the list too, and the focus does not get lost.
    await page.getByRole('button', { name: new RegExp(account.email) }).click();
    await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click();
    await list.waitFor();
    await list.getByRole('button', { name: 'Close' }).click();
    await list.waitFor({ state: 'detached' });
    await eventually(async () => String(await page.evaluate(FOCUSED)) !== '');
    expect(await page.evaluate('document.activeElement !== document.body')).toBe(true);
    expect(faults).toEqual([]);
  });

  inBrowser('on a phone the menu is a drawer, whatever is remembered', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor();
    await page.keyboard.press('[');
    await page.getByRole('button', { name: 'Expand the menu' }).waitFor();
    await page.setViewportSize({ width: 360, height: 800 });
    await page.getByRole('button', { name: 'Menu', exact: true }).click();
    const label = page.getByRole('navigation', { name: 'Pages' }).getByText('Messages', { exact: true });
    expect((await label.boundingBox())?.width).toBeGreaterThan(40);
    expect(await page.getByRole('button', { name: 'Expand the menu' }).count()).toBe(0);
    await expectAccessible(page);
    expect(faults).toEqual([]);
  });

  inBrowser('at the next visit a page asks for session and content in one call', async () => {
    const { page, faults } = await browser.open({ person: account, path: '/messages' });
    await page.getByRole('button', { name: new RegExp(account.email) }).waitFor();
    const kept = await page.evaluate<string>("localStorage.getItem('console-frame')");
    expect(JSON.parse(kept).viewer).toMatchObject({
      email: '',
      role: 'OWNER',
      account: { name: '', balance: null },
    });
    expect(kept).not.toContain(account.email);

    const session = await holdAnswers(page, 'Session');
    const [first] = await Promise.all([
      page.waitForRequest((request) => asks(request, 'Session')),
      page.reload(),
    ]);
    expect(['OpenAlerts', 'Messages'].filter((each) => !asks(first, each))).toEqual([]);
    await session.held;
    await page.getByRole('link', { name: 'Ledger', exact: true }).waitFor();
    expect(await page.getByRole('button', { name: new RegExp(account.email) }).count()).toBe(0);
    session.release();
    await page.getByText('No messages yet').waitFor();
    await page.getByRole('button', { name: new RegExp(account.email) }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate("localStorage.getItem('console-frame')")).toBeNull();
    expect(faults).toEqual([]);
  });

  inBrowser('a query that the gateway refuses does not take those of the same call with it', async () => {
    const { page } = await browser.open({ person: account, path: '/messages' });
    await page.getByText('No messages yet').waitFor();
    await page.route('**/graphql', async (route) => {
      const asked = route.request().postDataJSON();
      if (!asks(route.request(), 'Messages')) return route.continue();
      const variables = { ...asked.variables, Messages_filter: { status: ['NO_SUCH_STATUS'] } };
      return route.continue({ postData: { ...asked, variables } });
    });
    await page.reload();
    await page.getByRole('alert').getByText('NO_SUCH_STATUS').waitFor();
    await page.getByRole('button', { name: new RegExp(account.email) }).waitFor();
  });

  inBrowser('a remembered frame without a session leads to the sign-in', async () => {
    const { page } = await browser.open({ person: account, path: '/messages' });
    await page.getByRole('button', { name: new RegExp(account.email) }).waitFor();
    await page.context().clearCookies();
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate("localStorage.getItem('console-frame')")).toBeNull();
  });
});
