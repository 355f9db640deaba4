import type { Browser, BrowserContext, CDPSession, Page, Request } from 'playwright-core';
import { launchChromium } from '../support/chromium.ts';
import { type BenchContext, type BenchResult, median } from './context.ts';
import { filledDatabase } from './filled.ts';
import { LARGE } from './history.ts';

/** Pages whose loading is measured. */
const PAGES = ['/', '/messages', '/usage', '/ledger', '/webhooks', '/api-keys'];
const REPEATS = 5;
const SETTLE_MS = 1_000;
const SLOWDOWN = 4;
/** A mobile line of 400 kbit/s both ways. */
const LINE = { offline: false, downloadThroughput: 50_000, uploadThroughput: 50_000, latency: 150 };

/** What the browser reports of one page: times in ms since the navigation began, and the layout shift. */
interface Paint {
  readonly largestMs: number;
  readonly shift: number;
}

// Runs in the page before its own scripts. Keeps the last largest paint, the sum of shifts, the slowest interaction, and
// when the page had its heading and all of its content. Playwright's own waiting looks every half second only.
const OBSERVE = `
  window.seen = { largestMs: 0, shift: 0, slowestMs: 0, usableMs: 0 };
  const watch = setInterval(() => {
    if (!document.querySelector('h1') || document.querySelector('.skeleton')) return;
    seen.usableMs = performance.now();
    clearInterval(watch);
  }, 10);
  new PerformanceObserver((list) => { for (const each of list.getEntries()) seen.largestMs = each.startTime; })
    .observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) seen.shift += each.value;
  }).observe({ type: 'layout-shift', buffered: true });
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) seen.slowestMs = Math.max(seen.slowestMs, each.duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });`;

/**
 * Measures the console in Chromium, on a database of two million messages: what a person waits for on a slow processor
 * and on a slow line, and how long an interaction blocks.
 */
export async function run(context: BenchContext): Promise<BenchResult[]> {
  const { database, dataset } = await filledDatabase(context, LARGE);
  const server = await context.joinServer(
    { database, key: dataset.key },
    { ROLES: 'api', RATE_LIMIT_POINTS_PER_MINUTE: '1000000' },
  );
  const browser = await launchChromium();
  try {
    const console = { browser, url: `${server.url}/console`, owner: dataset.owner };
    return [
      ...(await onSlowProcessor(console)),
      ...(await onSlowLine(console)),
      ...(await interactions(console)),
    ];
  } finally {
    await browser.close();
    await server.stop();
  }
}

interface Console {
  readonly browser: Browser;
  readonly url: string;
  readonly owner: { readonly email: string; readonly password: string };
}

/** Returns a context in which the owner is signed in. */
async function signedIn({ browser, url, owner }: Console): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  await context.addInitScript(OBSERVE);
  const page = await context.newPage();
  await page.goto(`${url}/password`);
  await page.getByLabel('Email').fill(owner.email);
  await page.getByLabel('Password').fill(owner.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Change password' }).waitFor();
  await page.close();
  return context;
}

/** Resolves when the page shows its heading and its content. */
async function isUsable(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.getByText('Loading').first().waitFor({ state: 'detached' });
}

/** Waits for late paints and shifts. The network is never idle, because live updates come over an open stream. */
const settled = () => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

const seenBy = (page: Page): Promise<Paint & { slowestMs: number; usableMs: number }> =>
  page.evaluate('seen');

async function onSlowProcessor(console: Console): Promise<BenchResult[]> {
  const context = await signedIn(console);
  const results: BenchResult[] = [];
  for (const path of PAGES) {
    const paints: Paint[] = [];
    const calls: number[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat += 1) {
      const page = await context.newPage();
      const cdp = await context.newCDPSession(page);
      await cdp.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
      // Counts the calls before the first answer. Later ones are for what is added: names in a filter, a count, updates.
      let asked = 0;
      let isAnswered = false;
      const isCall = (request: Request) => request.url().endsWith('/graphql') && request.method() === 'POST';
      page.on('request', (request) => {
        if (isCall(request) && !isAnswered) asked += 1;
      });
      page.on('response', (response) => {
        if (isCall(response.request())) isAnswered = true;
      });
      await page.goto(console.url + path);
      await isUsable(page);
      await settled();
      paints.push(await seenBy(page));
      calls.push(asked);
      await page.close();
    }
    results.push({
      name: `console ${path}: largest paint, processor slowed down ${SLOWDOWN} times`,
      value: median(paints.map(({ largestMs }) => largestMs)),
      unit: 'ms',
      reach: '1500',
      note: `layout shift ${Math.max(...paints.map(({ shift }) => shift)).toFixed(3)} (0.02), ${median(calls)} GraphQL calls before the first answer`,
    });
  }
  await context.close();
  return results;
}

async function onSlowLine(console: Console): Promise<BenchResult[]> {
  const first: number[] = [];
  const next: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const state = await (await signedIn(console)).storageState();
    // A new context has the session but an empty cache.
    const context = await console.browser.newContext({ storageState: state });
    await context.addInitScript(OBSERVE);
    for (const times of [first, next]) {
      const page = await context.newPage();
      await slowLine(await context.newCDPSession(page));
      await page.goto(`${console.url}/messages`, { waitUntil: 'commit' });
      await isUsable(page);
      await settled();
      times.push((await seenBy(page)).usableMs);
      await page.close();
    }
    await context.close();
  }
  return [
    { name: 'console at 400 kbit/s: usable the first time', value: median(first), unit: 'ms', reach: '8000' },
    { name: 'console at 400 kbit/s: usable the next time', value: median(next), unit: 'ms', reach: '1000' },
  ];
}

async function slowLine(cdp: CDPSession): Promise<void> {
  await cdp.send('Network.enable');
  await cdp.send('Network.emulateNetworkConditions', LINE);
}

/** The slowest interaction with the list of two million messages, from the key or click to the next paint. */
async function interactions(console: Console): Promise<BenchResult[]> {
  const context = await signedIn(console);
  const slowest: number[] = [];
  for (let repeat = 0; repeat < REPEATS; repeat += 1) {
    const page = await context.newPage();
    await page.goto(`${console.url}/messages`);
    await isUsable(page);
    await page.getByRole('link', { name: /^\+/ }).first().click();
    await page.getByRole('dialog', { name: 'Message' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Status', { exact: true }).selectOption({ index: 1 });
    await isUsable(page);
    await page.getByLabel('Search').first().pressSequentially('25677');
    await page.keyboard.press('Enter');
    await isUsable(page);
    await settled();
    slowest.push((await seenBy(page)).slowestMs);
    await page.close();
  }
  await context.close();
  return [
    {
      name: 'console: slowest interaction with 2 million messages',
      value: median(slowest),
      unit: 'ms',
      reach: '100',
    },
  ];
}
