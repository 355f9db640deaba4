import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type ConsoleBrowser, expectAccessible, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { pathsOf } from './routes.ts';

/** A tablet, and a window of 1440 px that is zoomed to 200 %. */
const WIDTHS = [768, 720];

describe('every page of the console', () => {
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    browser = await startConsoleBrowser(gateway);
    account = await gateway.createAccount();
    const { key } = account;
    await gateway.call('POST', '/developers/webhooks', {
      key,
      body: {
        url: 'https://receiver.example/a/long/path/of/an/endpoint',
        events: ['sms.sent', 'sms.failed'],
      },
    });
    const to = Array.from({ length: 12 }, (_, index) => `+2567001200${String(index + 10)}`);
    for (const message of ['Hello', 'A long text '.repeat(20)]) {
      await gateway.call('POST', '/developers/sms', {
        key,
        body: { to: [...to, '+256700120001'].join(), message },
      });
    }
    const name = 'A contact with a long name of several words';
    await gateway.call('POST', '/developers/contacts', { key, body: { name, phone: '+256700120009' } });
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  /**
   * Opens a page. Fails if it does not show its content after its first call: what it asks later must only be for what
   * is added, such as the names in a filter.
   */
  async function openWithOneCall(page: Page, path: string): Promise<void> {
    const shown = Promise.withResolvers<void>();
    const calls: string[] = [];
    await page.route('**/graphql', async (route) => {
      calls.push(route.request().postDataJSON().operationName);
      if (calls.length > 1) await shown.promise;
      await route.continue().catch(() => undefined);
    });
    try {
      await page.goto(`${gateway.url}/console${path}`);
      await page.getByRole('heading', { level: 1, includeHidden: true }).first().waitFor();
      await page.getByText('Loading').first().waitFor({ state: 'detached' });
    } catch (error) {
      throw new Error(`${path} needs ${calls.join(' and ')}`, { cause: error });
    } finally {
      shown.resolve();
      await page.unroute('**/graphql');
    }
  }

  /** Checks the pages on a tablet and zoomed, with reduced motion, under which nothing may move. */
  async function walk(page: Page, paths: readonly string[]): Promise<void> {
    await page.emulateMedia({ reducedMotion: 'reduce' });
    for (const path of paths) {
      await openWithOneCall(page, path);
      const moving = await page.evaluate(
        'document.getAnimations().filter((each) => each.effect.getTiming().duration > 1).length',
      );
      expect({ path, moving }).toEqual({ path, moving: 0 });
      await expectAccessible(page, WIDTHS).catch((error: Error) => {
        throw new Error(`${path}: ${error.message}`);
      });
    }
  }

  inBrowser('of an owner is accessible on a tablet, at 200 % zoom and with reduced motion', async () => {
    const { page, faults } = await browser.open({ person: account });
    // The first visit leads from the overview to the first steps.
    await page.getByRole('heading', { level: 1, name: 'First steps' }).waitFor();
    const paths = pathsOf('everybody');
    expect(paths.length).toBeGreaterThan(20);
    await walk(page, paths);
    expect(faults).toEqual([]);
  });

  inBrowser('of an operator is accessible on a tablet, at 200 % zoom and with reduced motion', async () => {
    const email = 'pages@platform.example';
    const system = { kind: 'system', name: 'test' } as const;
    const { password } = await gateway.parts.operations.accounts.createOperator.run(system, { email });
    const { page, faults } = await browser.open({ person: { email, password } });
    const paths = pathsOf('operators');
    expect(paths.length).toBeGreaterThan(5);
    await walk(page, [...paths, '/prices', '/audit', '/security']);
    expect(faults).toEqual([]);
  });
});
