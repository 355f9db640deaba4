/**
 * Tests a machine with a wrong clock. The gateway must not expire or delete anything, and must report the difference to
 * PostgreSQL's clock (ADR-0021).
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { apnsVariables, startApns } from '../support/apns.ts';
import { CLOUD_API, startCloudApi, taken } from '../support/cloud-api.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startFcm } from '../support/fcm.ts';
import { startMailServer } from '../support/mail-server.ts';
import { newBrowser, startPushService } from '../support/push-service.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  runCli,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { africasTalkingAnswer, startSmsApi } from '../support/sms-api.ts';
import { startSmsc } from '../support/smsc.ts';

// Time limit of a test in ms. Each test starts processes, which takes long on a busy machine.
jest.setTimeout(180_000);

const HOUR_MS = 3_600_000;
/** Twilio's longest validity period in seconds. The gateway must never request a longer one. */
const LONGEST_VALIDITY_SECONDS = 36_000;
/**
 * Longest lifetime in seconds of a push message. The gateway sends it for a message that has no lifetime of its own.
 */
const LONGEST_KEPT_SECONDS = 28 * 86_400;
const TEMPLATE = { type: 'template', template: { name: 'hello', language: 'en' } };
const PRELOAD = pathToFileURL(join(import.meta.dirname, '../support/shifted-date.ts')).href;

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

/**
 * Creates a database. Returns it with the environment of a process whose clock differs by `shiftMs` from its start or
 * from a later signal.
 */
async function shifted(shiftMs: number, template?: string) {
  const database = await createTestDatabase(template);
  closings.push(() => database.drop());
  const variables = {
    DATABASE_URL: database.url,
    DATA_DIR: await workplace.directory('data'),
    LOG_LEVEL: 'info',
    NODE_OPTIONS: `--import=${PRELOAD}`,
    CLOCK_SHIFT_MS: String(shiftMs),
  };
  const rows = <Row>(sql: string, values?: readonly unknown[]) =>
    query<Row>(database.connection, sql, values);
  return { variables, rows };
}

/**
 * Starts a peer for each kind of carrier, and one for WhatsApp. All accept messages. `forms` holds the requests to
 * Twilio.
 */
async function startCarriers() {
  const smsc = await startSmsc();
  closings.push(() => smsc.stop());
  const mail = await startMailServer();
  closings.push(() => mail.stop());
  const africasTalking = await startSmsApi(({ form }) =>
    africasTalkingAnswer(form.get('to') ?? '', 101, 'Success', `ATXid_${form.get('to')}`),
  );
  closings.push(() => africasTalking.stop());
  const whatsApp = await startCloudApi(({ body }, count) => taken(body.to, `wamid.${count}`));
  closings.push(() => whatsApp.stop());
  const forms: URLSearchParams[] = [];
  const http = createServer(async (request, response) => {
    forms.push(new URLSearchParams(await text(request)));
    response.writeHead(201, { 'Content-Type': 'application/json' }).end(`{"sid":"SM${forms.length}"}`);
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  closings.push(async () => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const variables = {
    SMS_ROUTES: [
      '*=simulator:',
      `254=${smsc.url}`,
      `255=twilio://AC1:token@127.0.0.1:${port}`,
      `233=africastalking://acme:key@${africasTalking.host}`,
    ].join(),
    EMAIL_URL: mail.url,
    WHATSAPP_URL: whatsApp.url,
    WHATSAPP_PHONE_NUMBER_ID: CLOUD_API.phoneNumberId,
    WHATSAPP_TOKEN: CLOUD_API.token,
    WHATSAPP_APP_SECRET: CLOUD_API.secret,
    WHATSAPP_VERIFY_TOKEN: 'verify-me',
  };
  return { variables, smsc, mail, forms, africasTalking, whatsApp };
}

const STARTS_SHIFTED = { CLOCK_SHIFT_STARTS: '1' };

describe('a machine whose clock is wrong at the start (R222)', () => {
  it.each([
    [25 * HOUR_MS, '25 h ahead of'],
    [-25 * HOUR_MS, '25 h behind'],
    [6_000, '6 s ahead of'],
  ])('refuses the start with one message, and writes nothing (%i ms)', async (shiftMs, skew) => {
    const { variables, rows } = await shifted(shiftMs, 'template1');
    const server = startServer(workplace, { ...variables, ...STARTS_SHIFTED });
    closings.push(() => server.kill());
    await expect(server.ready()).rejects.toThrow('ended before');
    const { code, stderr } = await server.finished;
    expect(code).toBe(1);
    // The query takes some milliseconds, so the gateway may report 5.9, 6 or 6.1 s.
    const said = stderr.replace(/\b(?:5\.9|6\.1) s/, '6 s');
    expect(said.split('\n').filter((line) => !line.startsWith('{'))).toEqual([
      `Cannot start: This machine's clock is ${skew} the database's. Let NTP set the clocks of both machines.`,
      '',
    ]);
    expect(await rows(`SELECT relname FROM pg_class WHERE relname = 'schema_migrations'`)).toEqual([]);
  });

  it("the command line works with the database's time, and doctor reports the skew", async () => {
    const { variables, rows } = await shifted(25 * HOUR_MS);
    const cli = (...args: string[]) =>
      runCli(workplace, args, { ...variables, ...STARTS_SHIFTED, LOG_LEVEL: 'silent' });
    const created = await cli('account', 'create', '--email', 'a@example.com', '--currency', 'UGX');
    expect(created).toMatchObject({ code: 0, stderr: '' });
    const [account] = await rows<{ isNow: boolean }>(
      `SELECT created_at BETWEEN now() - interval '1 minute' AND now() AS "isNow" FROM accounts`,
    );
    expect(account).toEqual({ isNow: true });
    const doctor = await cli('doctor');
    expect(doctor).toMatchObject({ code: 1, stderr: 'failed: clock\n' });
    expect(doctor.stdout).toContain(
      "FAIL  clock       This machine's clock is 25 h ahead of the database's.",
    );
  });
});

describe('a machine whose clock is set while the gateway runs (R222)', () => {
  it("accepts and sends by the database's time, expires and deletes nothing, and reports the skew", async () => {
    const { variables, rows } = await shifted(72 * HOUR_MS);
    const carriers = await startCarriers();
    const server = startServer(workplace, { ...variables, ...carriers.variables });
    closings.push(() => server.kill());
    const url = await server.ready();
    const { key } = quickstartOf(server.stdout());
    const call = async (path: string, body?: object, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    };
    const send = (more: object = {}, headers = {}) =>
      call('/api/v1/developers/sms', { to: '+256700123456', message: 'Hello', ...more }, headers);
    const lines = (...words: string[]) =>
      server
        .stderr()
        .split('\n')
        .filter((line) => words.every((word) => line.includes(word)));
    const setClock = () => process.kill(server.child.pid as number, 'SIGUSR2');

    const keyed = { 'Idempotency-Key': 'order-1' };
    const first = await send({}, keyed);
    expect(first.status).toBe(200);
    const scheduledFor = new Date(Date.now() + 5 * HOUR_MS).toISOString();
    const scheduled = JSON.parse((await send({ scheduledFor })).text).id as string;

    setClock();
    const reason =
      "This machine's clock is 3 days ahead of the database's. Let NTP set the clocks of both machines.";
    const degraded = await eventually(async () => {
      const answer = await call('/health/ready');
      return answer.text.includes('degraded') && answer;
    });
    expect([degraded.status, JSON.parse(degraded.text)]).toEqual([
      200,
      { status: 'degraded', check: 'clock', reason },
    ]);
    const [, seconds] = /^gateway_clock_skew_seconds (\S+)$/m.exec((await call('/metrics')).text) ?? [];
    expect(Math.round(Number(seconds) / 3_600)).toBe(72);

    const again = await send({}, keyed);
    expect([again.headers.get('Idempotency-Replayed'), again.text]).toEqual(['true', first.text]);
    const { id, createdAt } = JSON.parse((await send()).text) as { id: string; createdAt: string };
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(HOUR_MS);
    // The id must hold the right time, because expiry finds messages by the time in their id.
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBeLessThan(Date.now() + HOUR_MS);
    const get = async (id: string) => JSON.parse((await call(`/api/v1/developers/messages/${id}`)).text);
    await eventually(async () => (await get(id)).status === 'delivered');
    // The gateway must not believe, because of the wrong clock, that the time to submit to a carrier or mail server is
    // over.
    const mail = { to: 'a@example.com', subject: 'Hello', text: 'Hello' };
    for (const answer of [
      await send({ to: '+254700123456' }),
      await send({ to: '+255700123456' }),
      await send({ to: '+233501234567' }),
      await call('/api/v1/developers/email', mail),
      await call('/api/v1/developers/whatsapp', { to: '+256700123456', ...TEMPLATE }),
    ]) {
      const sent = JSON.parse(answer.text).id as string;
      await eventually(async () => ['sent', 'delivered'].includes((await get(sent)).status));
    }
    const { smsc, mail: mails, whatsApp } = carriers;
    // The gateway also asks for its balance, by GET.
    const posted = carriers.africasTalking.requests.filter(({ method }) => method === 'POST');
    expect([smsc.received, mails.received, posted, whatsApp.requests].map(({ length }) => length)).toEqual([
      1, 1, 1, 1,
    ]);
    const validSeconds = Number(carriers.forms[0]?.get('ValidityPeriod') ?? LONGEST_VALIDITY_SECONDS);
    expect(validSeconds).toBeGreaterThan(LONGEST_VALIDITY_SECONDS / 2);

    // Wait until every task that deletes or expires has run. None of them may have changed anything.
    for (const task of ['sweeps', 'retention', 'old events', 'old imports', 'spent signatures'])
      await eventually(() => lines('a periodic task failed', `"task":"${task}"`, reason).length === 1);
    expect(await get(scheduled)).toMatchObject({
      status: 'pending',
      scheduledFor,
    });
    expect(await rows(`SELECT kind FROM ledger_entries WHERE kind = 'refund'`)).toEqual([]);
    expect(await rows('SELECT key FROM idempotency_records')).toEqual([{ key: 'order-1' }]);
    expect(lines('the clocks disagree')).toHaveLength(1);

    setClock();
    await eventually(() => lines('the clocks agree again').length === 1);
    await eventually(async () => (await call('/health/ready')).text === '{"status":"ready"}');
    await eventually(() => lines('a periodic task works again', '"task":"retention"').length === 1);
    expect(await server.stop()).toMatchObject({ code: 0 });
  });

  it("tells push platforms lifetimes by the database's time", async () => {
    const { variables } = await shifted(-72 * HOUR_MS);
    const [fcm, apns, web] = await Promise.all([startFcm(), startApns(), startPushService()]);
    for (const platform of [fcm, apns, web]) closings.push(() => platform.stop());
    const credentials = join(variables.DATA_DIR, 'fcm.json');
    await writeFile(credentials, fcm.credentials);
    const server = startServer(workplace, {
      ...variables,
      FCM_CREDENTIALS: credentials,
      FCM_URL: fcm.url,
      ...apnsVariables(apns.url),
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    });
    closings.push(() => server.kill());
    const url = await server.ready();
    const { key } = quickstartOf(server.stdout());
    const post = async (path: string, body: object) => {
      const response = await fetch(`${url}/api/v1/developers/push${path}`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect([response.status, await response.text()]).toEqual([
        path === '' ? 200 : 201,
        expect.stringContaining('"id"'),
      ]);
    };
    const send = (more: object = {}) => post('', { to: 'amina', title: 'Hello', body: 'Amina', ...more });
    const count = () => [fcm, apns, web].map(({ requests }) => requests.length);
    for (const device of [
      { platform: 'android', token: 'fcm-token' },
      { platform: 'ios', token: 'a1b2c3d4' },
      { platform: 'web', token: web.endpoint('amina'), keys: newBrowser().keys },
    ])
      await post('/devices', { userId: 'amina', ...device });
    // Send while the clock is still right. So the providers' tokens are valid in real time when the clock is wrong.
    await send();
    await eventually(() => count().join() === '1,1,1');

    process.kill(server.child.pid as number, 'SIGUSR2');
    await eventually(async () => (await (await fetch(`${url}/health/ready`)).text()).includes('degraded'));
    await send({ ttlSeconds: 600 });
    await eventually(() => count().join() === '2,2,2');
    const seconds = [
      /^(\d+)s$/.exec(fcm.requests[1]?.message.android.ttl)?.[1],
      web.requests[1]?.headers.ttl,
    ];
    for (const each of seconds) {
      expect(Number(each)).toBeGreaterThan(0);
      expect(Number(each)).toBeLessThanOrEqual(600);
    }
    await send();
    await eventually(() => count().join() === '3,3,3');
    const until = Number(apns.requests[2]?.headers['apns-expiration']);
    expect(Math.abs(until - LONGEST_KEPT_SECONDS - Date.now() / 1_000)).toBeLessThan(HOUR_MS / 1_000);
  });
});
