import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import {
  type ConsoleBrowser,
  expectAccessible,
  inBrowser,
  signInHere,
  startConsoleBrowser,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

/** A circle. If a browser ran the script, it would change the title. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24">
  <style>circle { fill: #7a1fa2 }</style><circle cx="12" cy="12" r="12"/>
  <script>top.document.title = 'a script ran'</script></svg>`;

describe("the operator's brand in the console (R461)", () => {
  let folder: string;
  let gateway: TestGateway;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'brand-'));
    const logo = join(folder, 'logo.svg');
    await writeFile(logo, LOGO);
    gateway = await startTestGateway({
      BRAND_NAME: 'Acme & Daughters',
      BRAND_LOGO: logo,
      BRAND_ACCENT: '#7a1fa2',
    });
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
    await rm(folder, { recursive: true });
  });

  inBrowser('is on the sign-in page, in the frame, in titles and colours', async () => {
    const account = await gateway.createAccount();
    const { page, faults } = await browser.open({ path: '/sign-in' });
    await page.getByRole('main').getByText('Acme & Daughters').waitFor();
    await eventually(async () => (await page.title()) === 'Sign in · Acme & Daughters');
    const isDrawn = 'document.querySelector(".brand-logo").naturalWidth > 0';
    await eventually(() => page.evaluate<boolean>(isDrawn));
    const colour = 'getComputedStyle(document.querySelector("button[type=submit]")).backgroundColor';
    expect(await page.evaluate(colour)).toBe('rgb(122, 31, 162)');
    await expectAccessible(page);
    await signInHere(page, account);
    await page.getByRole('link', { name: 'Acme & Daughters' }).waitFor();
    await eventually(async () => (await page.title()) === 'Overview · Acme & Daughters');
    await eventually(() => page.evaluate<boolean>(isDrawn));
    await expectAccessible(page);

    // Opened as a page, the logo runs no script either. The browser reports that as an error.
    const address = await page.locator('.brand-logo').getAttribute('src');
    expect(faults).toEqual([]);
    await page.goto(`${gateway.url}${address}`);
    expect(await page.title()).not.toBe('a script ran');
    expect(faults.join()).toMatch(/sandbox/);
  });
});
