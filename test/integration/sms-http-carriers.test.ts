import { afterEach, describe, expect, it } from '@jest/globals';
import { createAfricasTalkingCarrier } from '../../src/channels/sms/africastalking-carrier.ts';
import type { HttpCarrier } from '../../src/channels/sms/http-carrier.ts';
import { smsRoutes } from '../../src/channels/sms/sms-carriers.ts';
import { createTwilioCarrier } from '../../src/channels/sms/twilio-carrier.ts';
import type { Logger } from '../../src/domain/ports/logger.ts';
import type { SmsSubmission } from '../../src/domain/ports/provider.ts';
import { silentLogger } from '../support/database.ts';
import {
  type ApiReply,
  africasTalkingAnswer,
  type SmsApi,
  startSmsApi,
  twilioAnswer,
  twilioError,
} from '../support/sms-api.ts';

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

type Make = (host: string) => HttpCarrier;
const africasTalking: Make = (host) =>
  createAfricasTalkingCarrier({ url: `africastalking://acme:k%3Aey@${host}` });
const twilio: Make = (host) =>
  createTwilioCarrier({ url: `twilio://AC0123:to%2Fken@${host}`, publicUrl: 'https://gateway.example' });

async function open(make: Make, reply: ApiReply): Promise<{ api: SmsApi; carrier: HttpCarrier }> {
  const api = await startSmsApi(() => reply);
  opened.push(api.stop);
  const carrier = make(api.host);
  opened.push(() => carrier.stop());
  return { api, carrier };
}

const signal = new AbortController().signal;
const submission = (members: Partial<SmsSubmission> = {}): SmsSubmission => ({
  messageId: 'm',
  position: 0,
  to: '+256700123456',
  from: 'ACME',
  attempt: 0,
  expiresAt: new Date(Date.now() + 24 * 3_600_000),
  text: 'Olá & 50% = “half”\n+1',
  encoding: 'UCS-2',
  segments: 1,
  ...members,
});

describe('Africa’s Talking', () => {
  it('gets requests as its documentation says', async () => {
    const { api, carrier } = await open(
      africasTalking,
      africasTalkingAnswer('+256700123456', 101, 'Success', 'ATXid_1'),
    );
    expect(await carrier.submit(submission(), signal)).toEqual({ kind: 'accepted', sid: 'ATXid_1' });
    const [request] = api.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/version1/messaging' });
    expect(request?.headers).toMatchObject({
      apikey: 'k:ey',
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      username: 'acme',
      to: '+256700123456',
      from: 'ACME',
      message: 'Olá & 50% = “half”\n+1',
      bulkSMSMode: '1',
    });
    expect(carrier.name).toBe(`africastalking:acme@${api.host}`);
  });

  it.each([
    [100, 'Processed'],
    [102, 'Queued'],
  ])('status code %d means accepted', async (code, status) => {
    const { carrier } = await open(
      africasTalking,
      africasTalkingAnswer('+256700123456', code, status, 'ATXid_2'),
    );
    expect(await carrier.submit(submission(), signal)).toEqual({ kind: 'accepted', sid: 'ATXid_2' });
  });

  it.each([undefined, '', 'None', null])(
    "accepted with the id %j gets an id of the gateway's own",
    async (messageId) => {
      const recipient = { statusCode: 101, number: '+256700123456', status: 'Success', messageId };
      const body = { SMSMessageData: { Message: 'Sent to 1/1', Recipients: [recipient] } };
      const { carrier } = await open(africasTalking, { status: 201, body });
      expect(await carrier.submit(submission({ messageId: 'm9', position: 3 }), signal)).toEqual({
        kind: 'accepted',
        sid: 'unnamed:m9:3:0',
      });
    },
  );

  it.each([
    [401, 'RiskHold'],
    [402, 'InvalidSenderId'],
    [403, 'InvalidPhoneNumber'],
    [404, 'UnsupportedNumberType'],
    [406, 'UserInBlacklist'],
    [407, 'CouldNotRoute'],
    [409, 'DoNotDisturbRejection'],
    [502, 'RejectedByGateway'],
  ])('status code %d is final', async (code, status) => {
    const { carrier } = await open(africasTalking, africasTalkingAnswer('+256700123456', code, status));
    expect(await carrier.submit(submission(), signal)).toEqual({
      kind: 'rejected',
      asked: true,
      code: status,
      reason: expect.stringContaining(String(code)),
    });
  });

  it("an empty credit is the operator's problem: the message waits, and health says so", async () => {
    const { carrier } = await open(
      africasTalking,
      africasTalkingAnswer('+256700123456', 405, 'InsufficientBalance'),
    );
    expect(await carrier.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
    expect(carrier.health()).toMatchObject({ state: 'down', detail: expect.stringContaining('balance') });
  });

  it.each([
    [500, 'InternalServerError'],
    [501, 'GatewayError'],
  ])('status code %d is retried, and the message may have been accepted', async (code, status) => {
    const { carrier } = await open(africasTalking, africasTalkingAnswer('+256700123456', code, status));
    expect(await carrier.submit(submission(), signal)).toEqual({
      kind: 'unavailable',
      asked: true,
      reason: status,
    });
  });

  it('an answer without recipients leaves the outcome unknown, because refusals are 201 too', async () => {
    const { carrier } = await open(africasTalking, { status: 201, body: {} });
    const outcome = await carrier.submit(submission(), signal);
    expect(outcome).toMatchObject({ kind: 'unavailable' });
    expect(outcome).not.toHaveProperty('definitelyNotSent');
  });

  it('a refusal of the whole request is final', async () => {
    const body = { SMSMessageData: { Message: 'InvalidSenderId', Recipients: [] } };
    const { carrier } = await open(africasTalking, { status: 201, body });
    expect(await carrier.submit(submission(), signal)).toMatchObject({
      kind: 'rejected',
      code: 'InvalidSenderId',
    });
  });

  it('a refused key does not fail the message', async () => {
    const { carrier } = await open(africasTalking, {
      status: 401,
      body: 'The supplied authentication is invalid',
    });
    const outcome = await carrier.submit(submission(), signal);
    expect(outcome).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(JSON.stringify([outcome, carrier.health()])).not.toContain('k:ey');
    expect(carrier.health().state).toBe('down');
  });
});

describe('Twilio', () => {
  it('gets requests as its documentation says', async () => {
    const { api, carrier } = await open(twilio, twilioAnswer(new URLSearchParams(), 'SM1'));
    expect(await carrier.submit(submission(), signal)).toEqual({ kind: 'accepted', sid: 'SM1' });
    const [request] = api.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/2010-04-01/Accounts/AC0123/Messages.json' });
    expect(request?.headers.authorization).toBe(`Basic ${Buffer.from('AC0123:to/ken').toString('base64')}`);
    expect(Object.fromEntries(request?.form ?? [])).toEqual({
      To: '+256700123456',
      From: 'ACME',
      Body: 'Olá & 50% = “half”\n+1',
      StatusCallback: 'https://gateway.example/callbacks/sms/twilio',
    });
  });

  it.each([
    ['15005550006', '+15005550006'],
    ['12345', '12345'],
  ])('a sender of digits is sent as its kind: %s as %s', async (from, asked) => {
    const { api, carrier } = await open(twilio, twilioAnswer(new URLSearchParams(), 'SM1'));
    await carrier.submit(submission({ from }), signal);
    expect(api.requests[0]?.form.get('From')).toBe(asked);
  });

  it('a near deadline is sent along, in seconds', async () => {
    const { api, carrier } = await open(twilio, twilioAnswer(new URLSearchParams(), 'SM1'));
    await carrier.submit(submission({ expiresAt: new Date(Date.now() + 600_500) }), signal);
    await carrier.submit(submission({ expiresAt: new Date(Date.now() + 1_000) }), signal);
    expect(Number(api.requests[0]?.form.get('ValidityPeriod'))).toBeGreaterThan(500);
    expect(Number(api.requests[0]?.form.get('ValidityPeriod'))).toBeLessThanOrEqual(600);
    expect(api.requests[1]?.form.get('ValidityPeriod')).toBe('5');
  });

  it('a callback URL on this machine is not sent to a carrier elsewhere', async () => {
    const carrier = createTwilioCarrier({
      url: 'twilio://AC1:t@api.twilio.com',
      publicUrl: 'http://127.0.0.1:3000',
    });
    opened.push(() => carrier.stop());
    expect(carrier.api.request(submission()).form).not.toHaveProperty('StatusCallback');
    expect(carrier.api.baseUrl).toBe('https://api.twilio.com');
  });

  it.each([
    [400, 21211, "The 'To' number is not a valid phone number."],
    [400, 21610, 'Attempt to send to unsubscribed recipient'],
    [400, 21612, 'The message cannot be sent with this combination'],
  ])('%d with code %d is final', async (status, code, words) => {
    const { carrier } = await open(twilio, twilioError(status, code, words));
    expect(await carrier.submit(submission(), signal)).toEqual({
      kind: 'rejected',
      asked: true,
      code: String(code),
      reason: words,
    });
  });

  it.each([
    [401, 20003, 'Authenticate'],
    [403, 20005, 'Account not active'],
    [404, 20404, 'The requested resource was not found'],
  ])("%d is the operator's problem", async (status, code, words) => {
    const { carrier } = await open(twilio, twilioError(status, code, words));
    expect(await carrier.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
    expect(carrier.health()).toMatchObject({ state: 'down', detail: words });
  });

  it('a full queue of the sender is retried', async () => {
    const { carrier } = await open(twilio, twilioError(400, 21611, 'queue is full'));
    expect(await carrier.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
  });

  it.each([
    [200, {}],
    [201, { status: 'queued', sid: '', error_code: null }],
    [202, { status: 'accepted', sid: null }],
  ])(
    "%d with %j is accepted under an id of the gateway's own, so that it is not sent twice",
    async (status, body) => {
      const { carrier } = await open(twilio, { status, body });
      expect(await carrier.submit(submission({ messageId: 'm9', position: 3 }), signal)).toEqual({
        kind: 'accepted',
        sid: 'unnamed:m9:3:0',
      });
      expect(carrier.health().state).toBe('up');
    },
  );

  it('a message that failed on creation is rejected', async () => {
    const body = { sid: 'SM9', status: 'failed', error_code: 30005, error_message: 'Unknown destination' };
    const { carrier } = await open(twilio, { status: 201, body });
    expect(await carrier.submit(submission(), signal)).toMatchObject({ kind: 'rejected', code: '30005' });
  });
});

describe.each<[string, Make, ApiReply]>([
  ['Africa’s Talking', africasTalking, africasTalkingAnswer('+256700123456', 101, 'Success', 'ATXid_9')],
  ['Twilio', twilio, twilioAnswer(new URLSearchParams(), 'SM9')],
])('%s, unavailable or silent', (_name, make, accepted) => {
  it('says when to retry', async () => {
    const { carrier } = await open(make, { status: 429, body: {}, headers: { 'retry-after': '7' } });
    expect(await carrier.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      retryAfterMs: 7_000,
      definitelyNotSent: true,
    });
  });

  it.each<[string, ApiReply]>([
    ['an answer 500', { status: 500, body: {} }],
    ['an answer 408', { status: 408, body: '<html>' }],
    ['an answer 503', { status: 503, body: 'down for maintenance' }],
    ['an answer that is no JSON', { status: 200, body: '<html>' }],
    ['an answer that is a list', { status: 201, body: [] }],
    ['a cut connection', 'drop'],
  ])('%s leaves the outcome unknown', async (_what, reply) => {
    const { api, carrier } = await open(make, reply);
    const outcome = await carrier.submit(submission(), signal);
    expect(outcome).toMatchObject({ kind: 'unavailable' });
    expect(outcome).not.toHaveProperty('definitelyNotSent');
    api.answerWith(() => accepted);
    expect(await carrier.submit(submission(), signal)).toMatchObject({ kind: 'accepted' });
    expect(carrier.health().state).toBe('up');
  });

  it('with a closed port nothing was sent', async () => {
    const { api, carrier } = await open(make, accepted);
    await api.stop();
    opened.shift();
    expect(await carrier.submit(submission(), signal)).toMatchObject({
      kind: 'unavailable',
      definitelyNotSent: true,
    });
    expect(carrier.health().state).toBe('down');
  });
});

describe('texts from subscribers', () => {
  it.each([
    ['', '', undefined],
    ['?callbackToken=t0ken', '?token=t0ken', { sid: '1', sender: '+256700123456', to: '8008', text: 'STOP' }],
  ])('count only in callbacks that are proven (R380): %s', (parameters, query, inbound) => {
    const { readCallback } = smsRoutes(
      [{ prefix: '*', urls: [`africastalking://acme:key@api.example${parameters}`] }],
      { logger: silentLogger, publicUrl: 'https://gateway.example' },
    );
    const reading = readCallback({
      carrier: 'africastalking',
      target: `/callbacks/sms/africastalking${query}`,
      form: new URLSearchParams({ id: '1', from: '+256700123456', to: '8008', text: 'STOP' }),
      header: () => undefined,
    });
    expect(reading).toMatchObject({ kind: 'reports', reports: [] });
    expect('inbound' in reading && reading.inbound).toEqual(inbound);
  });
});

describe('the URL of an HTTP carrier', () => {
  it.each([
    ['africastalking://acme@api.example', 'needs a user and a secret'],
    ['africastalking://acme:key@', 'names no host'],
    ['africastalking://acme:key@api.example?token=x', 'unknown parameter token'],
    ['africastalking://acme:%zz@api.example', 'percent-encoded'],
  ])('%s is refused', (url, fault) => {
    expect(() => createAfricasTalkingCarrier({ url })).toThrow(fault);
    expect(() => createAfricasTalkingCarrier({ url })).not.toThrow('key');
  });

  it('without a callback token there is a warning at the start and in health', () => {
    const warned: unknown[] = [];
    const logger: Logger = { ...silentLogger, warn: (fields) => void warned.push(fields) };
    const make = (url: string) =>
      smsRoutes([{ prefix: '*', urls: [url] }], { logger, publicUrl: 'https://gateway.example' });
    const provider = make('africastalking://acme:key@api.example').routes[0]?.providers[0];
    const risk = expect.stringContaining('add ?callbackToken=SECRET to it');
    expect(warned).toEqual([{ carrier: 'africastalking:acme@api.example', risk }]);
    expect(provider?.health()).toMatchObject({
      state: 'up',
      detail: expect.stringContaining('add ?callbackToken=SECRET to it'),
    });
    make('africastalking://acme:key@api.example?callbackToken=t0ken');
    make('twilio://AC1:token@api.example');
    expect(warned).toHaveLength(1);
    make('africastalking://acme:key@api.example?callbackToken=');
    expect(warned).toHaveLength(2);
  });

  it('uses HTTPS, except on this machine', () => {
    const baseUrl = (host: string) => africasTalking(host).api.baseUrl;
    expect(baseUrl('api.africastalking.com')).toBe('https://api.africastalking.com');
    expect(baseUrl('10.0.0.1')).toBe('https://10.0.0.1');
    expect(baseUrl('127.0.0.1.example.com')).toBe('https://127.0.0.1.example.com');
    expect(baseUrl('localhost:9')).toBe('http://localhost:9');
  });
});
