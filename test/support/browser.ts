import { expect, it } from '@jest/globals';
import axe from 'axe-core';
import type { Browser, BrowserContext, Locator, Page, Request } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { eventually } from './eventually.ts';
import type { TestGateway } from './gateway.ts';

/**
 * Time limits in ms that end a hanging test. They are long, because several jest workers and browsers share the
 * machine.
 */
const TEST_MS = 180_000;
const HEIGHT = 900;
const WIDE = 1440;
const NARROW = 360;
const ACTION_MS = 45_000;
/** How bad a finding must be. */
const BAD: readonly unknown[] = ['serious', 'critical'];
/** All rules of axe, and how bad it calls what breaks them. Its types leave them out. */
const { rules } = (
  axe as unknown as { _audit: { rules: { id: string; impact: string; enabled: boolean }[] } }
)._audit;
/**
 * The rules whose findings count. Without the others, and without selectors, which the message of a finding does not
 * show, axe takes less than half of the time.
 */
const COUNTED: axe.RunOptions = {
  resultTypes: ['violations'],
  selectors: false,
  runOnly: rules.filter(({ impact, enabled }) => enabled && BAD.includes(impact)).map(({ id }) => id),
};
/** A theme changes only colours. So only one theme needs all rules. */
const RULES: Record<'light' | 'dark', axe.RunOptions> = {
  light: COUNTED,
  dark: { ...COUNTED, runOnly: ['color-contrast'] },
};

/** The windows that the running test has opened. */
const opened = new Set<BrowserContext>();

/**
 * Declares a test that uses the packaged Chromium. Its windows are closed at its end: each one that stays open receives
 * live updates and draws them. The test is skipped where that Chromium does not run (other than Linux x64).
 */
export function inBrowser(name: string, work: () => Promise<void>): void {
  const run = process.platform === 'linux' && process.arch === 'x64' ? it : it.skip;
  const andClose = async () => {
    opened.clear();
    try {
      await work();
    } finally {
      for (const context of opened) await context.close();
    }
  };
  run(name, andClose, TEST_MS);
}

/** A page of the console. */
export interface ConsolePage {
  readonly page: Page;
  /**
   * What must not happen, one line each: console errors, exceptions, breaches of the content security policy, and
   * requests to another host.
   */
  readonly faults: string[];
}

export interface ConsoleBrowser {
  /** Opens a window with its own cookies at `path`. If a person is given, the window is signed in. */
  open(options?: { person?: { email: string; password: string }; path?: string }): Promise<ConsolePage>;
  close(): Promise<void>;
}

/** Starts a Chromium for the console of a gateway. Each test file starts one and closes it. */
export async function startConsoleBrowser(gateway: Pick<TestGateway, 'url'>): Promise<ConsoleBrowser> {
  const browser = await launchChromium();
  return {
    async open({ person, path = '' } = {}) {
      const shown = await openPage(browser, gateway.url);
      if (person) await signInWithoutForm(shown.page, gateway.url, person);
      await shown.page.goto(`${gateway.url}/console${path}`);
      if (person) await showsNavigation(shown.page);
      return shown;
    },
    close: () => browser.close(),
  };
}

async function openPage(browser: Browser, origin: string): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width: WIDE, height: HEIGHT },
    colorScheme: 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  opened.add(context);
  const page = await context.newPage();
  page.setDefaultTimeout(ACTION_MS);
  const faults: string[] = [];
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== origin) faults.push(`request to ${url.origin}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  return { page, faults };
}

/** Fills the sign-in form. */
export async function signInHere(page: Page, person: { email: string; password: string }): Promise<void> {
  await page.getByLabel('Email', { exact: true }).fill(person.email);
  await page.getByLabel('Password').fill(person.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await showsNavigation(page);
}

/** Signs in as the form does. It is not shown, which saves a page load. */
async function signInWithoutForm(
  page: Page,
  url: string,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const query = 'mutation ($e: String!, $p: String!) { signIn(email: $e, password: $p) { token } }';
  const answer = await page
    .context()
    .request.post(`${url}/graphql`, { data: { query, variables: { e: email, p: password } } });
  if (!(await answer.text()).includes('"token":"')) throw new Error(`cannot sign in: ${await answer.text()}`);
}

async function showsNavigation(page: Page): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Pages', exact: true, includeHidden: true })
    .waitFor({ state: 'attached' });
}

/** True if a call of the console asks this operation, alone or together with others. */
export function asks(request: Request, operationName: string): boolean {
  const asked: unknown = request.postDataJSON()?.operationName;
  return typeof asked === 'string' && asked.split('_').includes(operationName);
}

/**
 * Holds back the answers to an operation until `release` is called. `held` resolves when the first answer has arrived.
 * Only one hold works at a time, because `release` removes all routes of the page.
 */
export async function holdAnswers(
  page: Page,
  operationName: string,
): Promise<{ readonly held: Promise<void>; release(): void }> {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let isReleased = false;
  await page.route('**/graphql', async (route) => {
    if (isReleased || !asks(route.request(), operationName)) return route.continue();
    const response = await route.fetch();
    held.resolve();
    await released.promise;
    await route.fulfill({ response });
  });
  return {
    held: held.promise,
    // Do not remove the route. Requests that are made while a route is being removed may never be answered.
    release() {
      isReleased = true;
      released.resolve();
    },
  };
}

/**
 * Clicks at the pointer, as the second click of a double click does. Call it when the effect of the first click is
 * visible.
 */
export async function clickAgain(page: Page): Promise<void> {
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
}

/**
 * Clicks twice before the page is drawn again. Each counts as a single click, as with the keyboard. Returns a function
 * that counts the operation's requests since then.
 */
export async function clickTwiceAtOnce(button: Locator, operationName: string): Promise<() => number> {
  let asked = 0;
  button.page().on('request', (request) => {
    if (asks(request, operationName)) asked += 1;
  });
  await button.evaluate((element) => {
    const { click } = element as unknown as { click(): void };
    click.call(element);
    click.call(element);
  });
  return () => asked;
}

/** Types a date into a field for date and time, and leaves the time empty. */
export async function typeHalfATime(field: Locator): Promise<void> {
  await field.focus();
  await field.page().keyboard.type('11232026');
}

/** Gives the page a virtual authenticator, whose person always agrees. */
export async function addAuthenticator(page: Page): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/**
 * Waits until the field with that name has the focus. The page moves the focus shortly after it has shown the error.
 */
export async function hasFocus(page: Page, name: string): Promise<void> {
  await eventually(async () => (await page.evaluate('document.activeElement.getAttribute("name")')) === name);
}

/**
 * Uses Chromium's own protocol: `page.evaluate` compiles its text in this process first, and axe is long. The session
 * stays open: the end of any session would remove the page's virtual authenticators.
 */
async function loadAxe(page: Page): Promise<void> {
  if (await page.evaluate('"axe" in window')) return;
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axe.source });
}

/**
 * Fails on any serious or critical finding of axe, in light and dark, wide and narrow windows. Also fails if the
 * page scrolls sideways. Leaves the page light, with the last of the widths.
 */
export async function expectAccessible(
  page: Page,
  widths: readonly number[] = [NARROW, WIDE],
): Promise<void> {
  const findings: string[] = [];
  await loadAxe(page);
  for (const width of widths) {
    await page.setViewportSize({ width, height: HEIGHT });
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      const { violations } = (await page.evaluate(
        `axe.run(${JSON.stringify(RULES[colorScheme])})`,
      )) as axe.AxeResults;
      for (const { id, impact, nodes } of violations) {
        if (!BAD.includes(impact)) continue;
        for (const { html, failureSummary } of nodes) {
          findings.push(`${width} ${colorScheme} ${id}: ${html} ${failureSummary}`);
        }
      }
    }
    const excess = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    if (Number(excess) > 0) findings.push(`${width}: ${excess} px too wide`);
  }
  expect(findings).toEqual([]);
}

/** Returns the names of the page's buttons, without those that copy a text. A person who may only read has no others. */
export async function actionsOf(page: Page): Promise<readonly string[]> {
  const names = await page.getByRole('main').getByRole('button').allInnerTexts();
  return names.filter((name) => !name.startsWith('Copy'));
}
