/** Fills an account with a month of activity for the screenshots, through the APIs only. */
import { askGraphql, signIn } from '../support/graphql-request.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const AT_ONCE = 20;
/** Time to wait for delivery reports, in ms. The simulator reports about 1 s after it accepted a message. */
const REPORTED_MS = 1_300;
/** The share of messages in each hour of the day, from midnight on, relative to each other. */
const HOURS = [2, 1, 1, 1, 2, 6, 14, 26, 44, 58, 66, 62, 52, 56, 64, 60, 54, 46, 38, 32, 26, 18, 10, 5];
const PASSWORD = 'a password for pictures';

export interface Shown {
  readonly owner: { readonly email: string; readonly password: string };
  /** Id of a message with several recipients and a long history. */
  readonly messageId: string;
}

interface Place {
  readonly url: string;
  /** Sets the clocks of gateway and database back by `ms`. */
  setBack(ms: number): Promise<void>;
  /** URL of a webhook receiver that refuses everything. */
  readonly refusingUrl: string;
  readonly operatorToken: string;
}

/** Creates the account and its month of activity. */
export async function fillShownAccount(place: Place): Promise<Shown> {
  await place.setBack(40 * DAY_MS);
  const account = await createAccount(place, 'Kampala Market', 'amina@kampala-market.example', 750_000);
  const { token } = account;
  const shop = await createKey(place, token, 'Web shop', ['SEND_SMS', 'READ_MESSAGES']);
  const billing = await createKey(place, token, 'Billing', ['SEND_EMAIL', 'SEND_WHATSAPP', 'READ_MESSAGES']);
  const tests = await createKey(place, token, 'Order desk, tests', ['SEND_SMS'], 'SANDBOX');
  const old = await createKey(place, token, 'Old app', ['FULL_ACCESS']);
  await run(place, token, 'mutation ($id: ID!) { revokeApiKey(keyId: $id) { keyId } }', { id: old.keyId });
  const hook = `${place.url}/simulator/webhook`;
  await register(place, token, `${hook}/orders`, ['sms.sent', 'sms.failed'], 'Order desk');
  await register(place, token, `${hook}/invoices`, ['email.sent', 'email.failed'], 'Billing');
  const keys = { shop: shop.key, billing: billing.key, tests: tests.key };

  for (let day = 29; day > 0; day -= 1) {
    await place.setBack(day * DAY_MS);
    await sendMany(place, keys, sendsOfDay(day));
  }
  const now = Date.now();
  for (let hour = 23; hour >= 0; hour -= 1) {
    await place.setBack(hour * HOUR_MS + 12 * MINUTE_MS);
    if (hour === 3) {
      await register(place, await signIn(place, account.owner), place.refusingUrl, ['sms.sent'], 'Analytics');
    }
    await sendMany(place, keys, sendsOfHour(now, hour));
  }
  await place.setBack(4 * MINUTE_MS);
  const { id } = await send(place, shop.key, '/developers/sms', {
    to: '+256772410101,+256772410102,+256701550002,+254722310778',
    message: 'Dear customer, our shop on Kampala Road opens at 10:00 this Saturday. See you there.',
  });
  await settle(place, await signIn(place, account.owner));
  await place.setBack(0);
  return { owner: account.owner, messageId: id };
}

/** Creates an account whose owner has already replaced the one-time password. */
export async function createAccount(place: Place, name: string, email: string, balance: number) {
  const input = { name, email, currency: 'UGX', balance };
  const query = 'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { ownerPassword } }';
  const { createAccount: made } = await run(place, place.operatorToken, query, { input });
  const token = await signIn(place, { email, password: made.ownerPassword });
  const change =
    'mutation ($current: String!, $new: String!) { changePassword(current: $current, new: $new) }';
  await run(place, token, change, { current: made.ownerPassword, new: PASSWORD });
  return { token, owner: { email, password: PASSWORD } };
}

async function createKey(
  place: Place,
  token: string,
  name: string,
  scopes: readonly string[],
  environment = 'PRODUCTION',
): Promise<{ key: string; keyId: string }> {
  const query =
    'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { key apiKey { keyId } } }';
  const { createApiKey: made } = await run(place, token, query, { input: { name, scopes, environment } });
  return { key: made.key, keyId: made.apiKey.keyId };
}

async function register(place: Place, token: string, url: string, events: string[], description: string) {
  const query = 'mutation ($input: RegisterWebhookInput!) { registerWebhook(input: $input) { secret } }';
  await run(place, token, query, { input: { url, events, description, maxRetries: 0 } });
}

interface Keys {
  readonly shop: string;
  readonly billing: string;
  readonly tests: string;
}

const NAMES = ['Okello', 'Namuli', 'Mugisha', 'Achieng', 'Kato', 'Nakato', 'Wasswa', 'Auma'];
const TEXTS = [
  (name: string, order: number) => `Hello ${name}, your order ${order} has left and comes today.`,
  (name: string, order: number) => `${name}, your order ${order} is ready at the counter.`,
  (_name: string, order: number) =>
    `Your code is ${100_000 + ((order * 7919) % 900_000)}. It holds for 10 minutes.`,
  (name: string, order: number) => `Thank you, ${name}. We have received your payment for order ${order}.`,
];

/** A send of the month of activity. */
interface ShownSend {
  readonly key: keyof Keys;
  readonly path: string;
  readonly body: { readonly to: string };
}

/** Returns the number of sends of a day, counted back from today. */
export const sendsOfDay = (day: number): number => 480 + chance(260) - (day % 7 < 2 ? 250 : 0);

/** Returns the number of sends of an hour of today, counted back from now. */
const sendsOfHour = (now: number, hour: number): number =>
  HOURS[new Date(now - hour * HOUR_MS).getUTCHours()]! + chance(8);

/** Returns `count` sends on all channels. */
export function ordinarySends(count: number): readonly ShownSend[] {
  return Array.from({ length: count }, (): ShownSend => {
    const order = 41_000 + chance(9_000);
    const name = NAMES[chance(NAMES.length)]!;
    const text = TEXTS[chance(TEXTS.length)]!(name, order);
    const kind = chance(100);
    if (kind < 14) {
      const to = `${name.toLowerCase()}${chance(90)}@mail.example`;
      const body = { to, subject: `Your receipt for order ${order}`, text };
      return { key: 'billing', path: '/developers/email', body };
    }
    const to = `+25677${chance(90)}${2_000 + chance(8_000)}`.padEnd(13, '7');
    if (kind < 20) {
      const template = { name: 'order_shipped', language: 'en_US' };
      const body = { to, type: 'template', template };
      return { key: 'billing', path: '/developers/whatsapp', body };
    }
    const ending = kind === 20 ? '0001' : kind < 24 ? '0002' : kind === 24 ? '0004' : to.slice(-4);
    const body = { to: `${to.slice(0, -4)}${ending}`, message: text };
    return { key: kind > 97 ? 'tests' : 'shop', path: '/developers/sms', body };
  });
}

/** Sends `count` messages on all channels and waits for their reports. */
async function sendMany(place: Place, keys: Keys, count: number): Promise<void> {
  const sends = ordinarySends(count);
  for (let at = 0; at < sends.length; at += AT_ONCE) {
    await Promise.all(
      sends.slice(at, at + AT_ONCE).map(({ key, path, body }) => send(place, keys[key], path, body)),
    );
  }
  await pause(REPORTED_MS);
}

async function send(place: Place, key: string, path: string, body: object): Promise<{ id: string }> {
  const response = await fetch(`${place.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${text}`);
  return JSON.parse(text);
}

/** Waits until no message and no webhook delivery is pending. */
async function settle(place: Place, token: string): Promise<void> {
  const query = `{ messages(filter: { status: PENDING }) { totalCount }
    webhookDeliveries(filter: { status: PENDING }) { totalCount } }`;
  for (;;) {
    await pause(REPORTED_MS);
    const { messages, webhookDeliveries } = await run(place, token, query);
    if (messages.totalCount + webhookDeliveries.totalCount === 0) return;
  }
}

/** Returns the data of a response without errors. Its type is `any`, so that callers can read every member. */
async function run(place: Pick<Place, 'url'>, token: string, query: string, variables: object = {}) {
  const { body, text } = await askGraphql(place, query, { token, variables });
  if (body.errors) throw new Error(text);
  return body.data;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

let last = 20_261;
/** Returns a pseudo-random whole number from 0 to below `bound`. Every run gives the same sequence. */
function chance(bound: number): number {
  last = (last * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((last / 2_147_483_648) * bound);
}
