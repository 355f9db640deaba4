import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { createQuickstart } from '../../src/start/quickstart.ts';
import { type ConsoleBrowser, inBrowser, startConsoleBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import type { TestAccount, TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { startWebhookBench } from '../support/webhooks.ts';

/** The simulator refuses numbers that end with 0001. */
const REFUSED = '+256700120001';
/** More steps than any page or menu here needs. */
const MOST_STEPS = 150;

/** What a person does on a page, counted: a click, or a text that is typed with what opens its field. */
interface Acts {
  readonly count: () => number;
  /** Opens a link or presses a button. */
  on(target: Locator): Promise<void>;
  /** Opens the search and types. */
  search(text: string): Promise<void>;
  /** Chooses a result of the search. */
  choose(option: Locator): Promise<void>;
}

function withPointer(page: Page): Acts {
  let count = 0;
  return {
    count: () => count,
    async on(target) {
      count += 1;
      await target.click();
    },
    async search(text) {
      count += 1;
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).fill(text);
    },
    async choose(option) {
      count += 1;
      await option.click();
    },
  };
}

/** The same with Tab, the arrow keys and Enter. Steps of the focus do not count. */
function withKeys(page: Page): Acts {
  let count = 0;
  return {
    count: () => count,
    async on(target) {
      count += 1;
      await target.waitFor();
      for (let steps = 0; steps < MOST_STEPS; steps += 1) {
        if ((await target.and(page.locator(':focus')).count()) === 1) return page.keyboard.press('Enter');
        await page.keyboard.press('Tab');
      }
      throw new Error(`Tab does not reach ${target}`);
    },
    async search(text) {
      count += 1;
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).waitFor();
      await page.keyboard.type(text);
    },
    async choose(option) {
      count += 1;
      await option.waitFor();
      for (let steps = 0; steps < MOST_STEPS; steps += 1) {
        if ((await option.getAttribute('aria-selected')) === 'true') return page.keyboard.press('Enter');
        await page.keyboard.press('ArrowDown');
      }
      throw new Error(`ArrowDown does not reach ${option}`);
    },
  };
}

/** Each task is done with the pointer and with the keyboard alone, with the same number of actions. */
describe.each([
  { means: 'with the pointer', actsOn: withPointer },
  { means: 'with the keyboard alone', actsOn: withKeys },
])('the tasks of people in the console, $means', ({ actsOn }) => {
  let bench: Awaited<ReturnType<typeof startWebhookBench>>;
  let gateway: TestGateway;
  let account: TestAccount;
  let browser: ConsoleBrowser;
  let webhook: { readonly id: string; readonly url: string };
  let isBroken = true;
  beforeAll(async () => {
    bench = await startWebhookBench();
    gateway = bench.gateway;
    account = await gateway.createAccount();
    const receiver = await bench.receiving(() => (isBroken ? 500 : 200));
    const { id } = await bench.register(account, { url: receiver.url, maxRetries: 0 });
    webhook = { id, url: receiver.url };
    const body = { to: `+256700120009,${REFUSED},+256701120001`, message: 'Your parcel is here' };
    const sent = await gateway.call('POST', '/developers/sms', { key: account.key, body });
    await eventually(async () => {
      const { recipients } = (
        await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key: account.key })
      ).body;
      const states = recipients.map(({ status }: { status: string }) => status);
      return (
        states.filter((state: string) => state === 'failed').length === 2 && states.includes('delivered')
      );
    });
    browser = await startConsoleBrowser(gateway);
  });
  afterAll(async () => {
    await browser?.close();
    await bench?.stop();
  });

  const open = async (path: string) => {
    const { page, faults } = await browser.open({ person: account, path });
    return { page, faults, acts: actsOn(page) };
  };

  inBrowser('what a key cost this month: at most 2 actions', async () => {
    const { page, faults, acts } = await open('/contacts');
    await acts.on(page.getByRole('link', { name: 'Usage' }));
    await page.getByRole('row').getByText('UGX 30', { exact: true }).first().waitFor();
    expect(acts.count()).toBeLessThanOrEqual(2);
    expect(faults).toEqual([]);
  });

  inBrowser('why a number got nothing: 2 actions', async () => {
    const { page, faults, acts } = await open('/contacts');
    await acts.search('0700 120 001');
    await acts.choose(page.getByRole('option', { name: /^Message .*1 of 3 delivered/ }));
    await page
      .getByRole('region', { name: 'Why it is so' })
      .getByText('The carrier rejected it, so it was refunded.')
      .waitFor();
    expect(acts.count()).toBe(2);
    expect(faults).toEqual([]);
  });

  inBrowser('send again to those that failed, from the message: 2 actions', async () => {
    const { page, faults, acts } = await open('/messages?status=FAILED');
    await page
      .getByRole('row', { name: /1 of 3 delivered/ })
      .getByRole('link')
      .press('Enter');
    const drawer = page.getByRole('dialog', { name: 'Message' });
    await acts.on(drawer.getByRole('button', { name: 'Resend to the 2 that failed' }));
    await acts.on(page.getByRole('dialog').getByRole('button', { name: 'Send to 2 recipients' }));
    await page.getByRole('heading', { name: `SMS to ${REFUSED} and 1 more` }).waitFor();
    expect(acts.count()).toBe(2);
    expect(faults).toEqual([]);
  });

  inBrowser('who turned a key to production: at most 2 actions', async () => {
    const token = await signIn(gateway, account);
    const { keyId } = await gateway.createKey(account.accountId, { environment: 'sandbox' });
    const turn = `mutation ($id: ID!) { updateApiKey(keyId: $id, input: { environment: PRODUCTION }) { keyId } }`;
    const turned = await graphql(gateway, turn, { token, variables: { id: keyId } });
    expect(turned.body.errors).toBeUndefined();
    const { page, faults, acts } = await open('/contacts');
    await acts.on(page.getByRole('link', { name: 'Audit log' }));
    const row = page.getByRole('row').filter({ hasText: 'to production' }).first();
    await row.getByText(account.email).waitFor();
    expect((await row.innerText()).replaceAll(/\s+/g, ' ')).toContain(
      `${account.email} turned key test to production`,
    );
    expect(acts.count()).toBeLessThanOrEqual(2);
    // The log is filtered by the email of a person, not by their id.
    await page.getByLabel('Who').fill(account.email);
    await page.keyboard.press('Enter');
    await page.waitForURL(/actor=/);
    await row.getByText(account.email).waitFor();
    await page.getByLabel('Who').fill('nobody@example.com');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing fits').waitFor();
    expect(faults).toEqual([]);
  });

  inBrowser('deliver all failed events of a webhook again: 3 actions', async () => {
    isBroken = false;
    const { page, faults, acts } = await open('/contacts');
    await acts.on(page.getByRole('link', { name: 'Webhooks', exact: true }));
    await acts.on(page.getByRole('link', { name: webhook.url }));
    await acts.on(page.getByRole('button', { name: 'Retry all failed' }));
    await page.getByText(/deliver(y|ies) queued\./).waitFor();
    expect(acts.count()).toBe(3);
    await eventually(async () => {
      const { data } = await bench.deliveries(account, webhook.id);
      return data.every(({ status }: { status: string }) => status === 'success');
    });
    expect(faults).toEqual([]);
  });

  inBrowser('from a key to a delivered message, for a newcomer: 3 actions', async () => {
    const printed = await createQuickstart(gateway.parts.operations, gateway.url);
    const [, email = '', password = ''] = /sign in +(\S+) +(\S+)/.exec(printed) ?? [];
    const { page, faults } = await browser.open({ person: { email, password } });
    const acts = actsOn(page);
    const step = (number: number) => page.getByRole('region', { name: `Step ${number}:` });
    await acts.on(page.getByRole('button', { name: 'Make a key' }));
    await step(1).getByText('Done', { exact: true }).waitFor();
    await acts.on(step(2).getByRole('button', { name: 'Register it' }));
    await step(2).getByText('Done', { exact: true }).waitFor();
    await acts.on(step(3).getByRole('button', { name: 'Send it' }));
    await step(3).getByText('Delivered', { exact: true }).first().waitFor();
    expect(acts.count()).toBe(3);
    expect(faults).toEqual([]);
  });
});
