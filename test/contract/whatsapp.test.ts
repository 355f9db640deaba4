import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CLOUD_API,
  type CloudApiAnswer,
  type CloudApiRequest,
  callBack,
  inboundCallback,
  refused,
  startCloudApi,
  statusCallback,
  taken,
} from '../support/cloud-api.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const TEMPLATE = { type: 'template', template: { name: 'order_shipped', language: 'en_US' } };
const HOUR_MS = 3_600_000;

describe('WhatsApp over the Cloud API (R25)', () => {
  let gateway: TestGateway;
  let platform: Awaited<ReturnType<typeof startCloudApi>>;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let account: TestAccount;
  let answer: (request: CloudApiRequest) => CloudApiAnswer | 'hang' | 'reset';
  let sids = 0;
  const take = (request: CloudApiRequest) => {
    sids += 1;
    return taken(request.body.to, `wamid.HBgMMjU2NzAwMTIzNDU2${sids}==`);
  };

  beforeAll(async () => {
    platform = await startCloudApi((request) => answer(request));
    receiver = await startWebhookReceiver();
    gateway = await startTestGateway({
      WHATSAPP_URL: platform.url,
      WHATSAPP_PHONE_NUMBER_ID: CLOUD_API.phoneNumberId,
      WHATSAPP_TOKEN: CLOUD_API.token,
      WHATSAPP_APP_SECRET: CLOUD_API.secret,
      WHATSAPP_VERIFY_TOKEN: 'verify-me',
    });
    account = await gateway.createAccount();
    await gateway.call('POST', '/developers/webhooks', {
      key: account.key,
      body: { url: receiver.url, events: ['whatsapp.delivered', 'whatsapp.read', 'whatsapp.failed'] },
    });
  });
  beforeEach(() => {
    answer = take;
  });
  afterAll(async () => {
    await gateway?.stop();
    await platform?.stop();
    await receiver?.stop();
  });

  const send = (body: object, key = account.key, headers: Record<string, string> = {}) =>
    gateway.call('POST', '/developers/whatsapp', {
      key,
      headers,
      body: { to: '0700123456', ...TEMPLATE, ...body },
    });
  const lookUp = async (id: string) =>
    (await gateway.call('GET', `/developers/messages/${id}`, { key: account.key })).body;
  const becomes = (id: string, status: string) =>
    eventually(async () => {
      const found = await lookUp(id);
      return found.status === status && found;
    });
  const accepted = async (body: object = {}) => {
    const sent = await send(body);
    expect(sent.status).toBe(200);
    return becomes(sent.body.id, 'sent');
  };
  const eventsOf = async (id: string) => {
    const feed = await gateway.call('GET', '/developers/events?limit=100', { key: account.key });
    return feed.body.data
      .filter((event: { messageId: string }) => event.messageId === id)
      .map((event: { event: string }) => event.event);
  };
  const say = async (body: object) => expect((await callBack(gateway.url, body)).status).toBe(200);
  /** Sends a template, and waits until the platform has accepted it. */
  const write = async (to: string, key = account.key) => {
    const sent = await send({ to }, key);
    await eventually(async () => {
      const found = await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key });
      return found.body.status === 'sent';
    });
  };
  /** Sends a template to a number, and then an inbound message from that number. */
  const answers = async (from: string, id: string, at: Date) => {
    await write(`+${from}`);
    await say(inboundCallback(from, id, at));
  };

  it('a template is sent when the platform accepts it, with its id and without an event', async () => {
    const sent = await send({
      template: { name: 'order_shipped', language: 'en_US', components: [{ type: 'body', parameters: [] }] },
    });
    expect(sent.body).toMatchObject({
      channel: 'whatsapp',
      to: ['+256700123456'],
      type: 'template',
      content: 'order_shipped',
      status: 'pending',
      sid: null,
      readAt: null,
      cost: 0,
    });
    const found = await becomes(sent.body.id, 'sent');
    expect(found.sid).toBe(`wamid.HBgMMjU2NzAwMTIzNDU2${sids}==`);
    expect(await eventsOf(sent.body.id)).toEqual([]);
    const { path, headers, body } = platform.requests.at(-1) ?? {};
    expect(path).toBe(`/v23.0/${CLOUD_API.phoneNumberId}/messages`);
    expect(headers?.authorization).toBe(`Bearer ${CLOUD_API.token}`);
    expect(body).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '256700123456',
      type: 'template',
      template: {
        name: 'order_shipped',
        language: { code: 'en_US' },
        components: [{ type: 'body', parameters: [] }],
      },
    });
  });

  describe('the 24 hour window', () => {
    const windowOf = async (to: string, key = account.key) =>
      (await gateway.call('GET', `/developers/whatsapp/window?to=${encodeURIComponent(to)}`, { key })).body;

    it('is closed at first: free text and media get session_window_closed, in the sandbox too', async () => {
      const to = '+256700000001';
      const refusal = {
        code: 'session_window_closed',
        details: { to, lastInboundAt: null },
      };
      const text = { to, type: 'text', text: { body: 'Hello' } };
      const media = { to, type: 'media', media: { url: 'https://127.0.0.1:8443/picture.png' } };
      for (const key of [account.key, account.sandboxKey]) {
        const answers = [await send(text, key), await send(media, key)];
        expect(answers.map(({ status, body }) => [status, body.error])).toEqual([
          [400, expect.objectContaining(refusal)],
          [400, expect.objectContaining(refusal)],
        ]);
      }
      expect(await windowOf(to)).toEqual({ to, open: false, lastInboundAt: null, closesAt: null });
    });

    it('is opened by an inbound message, also when it is reported twice', async () => {
      const to = '+256700000002';
      const at = new Date(Math.floor(Date.now() / 1000) * 1000 - HOUR_MS);
      await answers('256700000002', 'wamid.in-2', at);
      await say(inboundCallback('256700000002', 'wamid.in-2', at));
      expect(await windowOf('0700 000 002')).toEqual({
        to,
        open: true,
        lastInboundAt: at.toISOString(),
        closesAt: new Date(at.getTime() + 24 * HOUR_MS).toISOString(),
      });
      const sent = await send({ to, type: 'text', text: { body: 'Hello', previewUrl: true } });
      expect(sent.body).toMatchObject({ content: 'Hello', type: 'text' });
      await becomes(sent.body.id, 'sent');
      expect(platform.requests.at(-1)?.body).toMatchObject({
        to: '256700000002',
        type: 'text',
        text: { body: 'Hello', preview_url: true },
      });
      const { rows } = await gateway.parts.stores.messages.history(
        { accountId: account.accountId, environment: undefined },
        'whatsapp',
        { to },
        { page: 1, limit: 10 },
      );
      expect(rows).toHaveLength(2);
      // Marketing gets a way out, unless its text has one (R531).
      const offer = async (body: string) =>
        (await send({ to, type: 'text', text: { body }, purpose: 'marketing' })).body.content;
      expect(await offer('Mangoes')).toBe('Mangoes\nReply STOP to get no more offers.');
      expect(await offer('Mangoes. STOP ends this.')).toBe('Mangoes. STOP ends this.');
    });

    it('is closed in the sandbox, whatever arrived in production (R200)', async () => {
      const to = '+256700000022';
      await answers('256700000022', 'wamid.in-22', new Date());
      expect(await windowOf(to)).toMatchObject({ open: true });
      const path = `/developers/whatsapp/window?to=${encodeURIComponent(to)}`;
      const seen = await gateway.call('GET', path, { key: account.sandboxKey });
      expect(seen.body).toEqual({ to, open: false, lastInboundAt: null, closesAt: null });
      const text = await send({ to, type: 'text', text: { body: 'Hello' } }, account.sandboxKey);
      expect(text.body.error).toMatchObject({
        code: 'session_window_closed',
        details: { to, lastInboundAt: null },
      });
    });

    it('must be open when a scheduled message is sent', async () => {
      const to = '+256700000006';
      const at = new Date(Math.floor(Date.now() / 1000) * 1000 - HOUR_MS);
      await answers('256700000006', 'wamid.in-6', at);
      const text = (hours: number) => ({
        to,
        type: 'text',
        text: { body: 'Hello' },
        scheduledFor: new Date(at.getTime() + hours * HOUR_MS).toISOString(),
      });
      const inTime = await send(text(23.9));
      expect(inTime.body).toMatchObject({ status: 'pending' });
      const late = await send(text(24));
      expect(late.body.error).toMatchObject({
        code: 'session_window_closed',
        message: expect.stringContaining(`so until ${new Date(at.getTime() + 24 * HOUR_MS).toISOString()}`),
      });
      await gateway.call('DELETE', `/developers/messages/${inTime.body.id}`, { key: account.key });
    });

    describe('belongs to the account that wrote to the number last (R205)', () => {
      const CLOSED = { open: false, lastInboundAt: null, closesAt: null };
      const text = (to: string) => ({ to, type: 'text', text: { body: 'Hello' } });
      let other: TestAccount;
      beforeAll(async () => {
        other = await gateway.createAccount();
      });

      it('so another account sees it closed, and its free text is refused', async () => {
        const to = '+256700000040';
        await answers('256700000040', 'wamid.in-40', new Date());
        expect(await windowOf(to)).toMatchObject({ open: true });
        expect(await windowOf(to, other.key)).toEqual({ to, ...CLOSED });
        for (const key of [other.key, other.sandboxKey]) {
          const refusal = await send(text(to), key);
          expect([refusal.status, refusal.body.error]).toEqual([
            400,
            expect.objectContaining({
              code: 'session_window_closed',
              message: expect.stringContaining(`this account has received no message from ${to} yet`),
              details: { to, lastInboundAt: null },
            }),
          ]);
        }
        expect((await send(text(to))).status).toBe(200);
      });

      it('which keeps it when another writes later; that one gets the next window', async () => {
        const to = '+256700000041';
        const at = new Date(Math.floor(Date.now() / 1000) * 1000 - HOUR_MS);
        await answers('256700000041', 'wamid.in-41a', at);
        await write(to, other.key);
        expect(await windowOf(to)).toMatchObject({ open: true, lastInboundAt: at.toISOString() });
        expect(await windowOf(to, other.key)).toEqual({ to, ...CLOSED });
        const next = new Date(at.getTime() + HOUR_MS / 2);
        await say(inboundCallback('256700000041', 'wamid.in-41b', next));
        // The callback is a repetition. Its message stays with the same account.
        await say(inboundCallback('256700000041', 'wamid.in-41a', at));
        expect(await windowOf(to, other.key)).toMatchObject({
          open: true,
          lastInboundAt: next.toISOString(),
        });
        expect(await windowOf(to)).toMatchObject({ open: true, lastInboundAt: at.toISOString() });
      });

      it('and to no account when none wrote', async () => {
        const to = '+256700000042';
        await say(inboundCallback('256700000042', 'wamid.in-42', new Date()));
        await write(to);
        expect(await windowOf(to)).toEqual({ to, ...CLOSED });
        expect(await windowOf(to, other.key)).toEqual({ to, ...CLOSED });
      });

      it('and messages that were not sent do not count: sandbox, scheduled, refused', async () => {
        const to = '+256700000043';
        await write(to);
        await send({ to }, other.sandboxKey);
        await send({ to, scheduledFor: new Date(Date.now() + HOUR_MS).toISOString() }, other.key);
        answer = () => refused(400, 131026, 'Undeliverable');
        const failed = await send({ to }, other.key);
        await eventually(async () => {
          const found = await gateway.call('GET', `/developers/messages/${failed.body.id}`, {
            key: other.key,
          });
          return found.body.status === 'failed';
        });
        await say(inboundCallback('256700000043', 'wamid.in-43', new Date()));
        expect(await windowOf(to)).toMatchObject({ open: true });
        expect(await windowOf(to, other.key)).toEqual({ to, ...CLOSED });
      });
    });

    it('closes 24 hours after the last message, whose time the refusal names', async () => {
      const to = '+256700000003';
      const old = new Date(Math.floor(Date.now() / 1000) * 1000 - 24 * HOUR_MS - 60_000);
      await answers('256700000003', 'wamid.in-3b', old);
      await say(inboundCallback('256700000003', 'wamid.in-3a', new Date(old.getTime() - HOUR_MS)));
      const answered = await send({ to, type: 'text', text: { body: 'Hello' } });
      expect(answered.body.error).toMatchObject({
        code: 'session_window_closed',
        details: { lastInboundAt: old.toISOString() },
      });
      expect(await windowOf(to)).toMatchObject({ open: false, lastInboundAt: old.toISOString() });
    });

    it('is not extended by a fast clock, nor by messages to another number of the app', async () => {
      await answers('256700000004', 'wamid.in-4', new Date(Date.now() + 48 * HOUR_MS));
      const { closesAt } = await windowOf('+256700000004');
      expect(Date.parse(closesAt)).toBeLessThanOrEqual(Date.now() + 24 * HOUR_MS);
      await write('+256700000005');
      const other = JSON.stringify(inboundCallback('256700000005', 'wamid.in-5', new Date()));
      expect((await callBack(gateway.url, other.replace(CLOUD_API.phoneNumberId, '1'))).status).toBe(200);
      expect((await windowOf('+256700000005')).open).toBe(false);
    });

    it('media of every kind are sent by URL', async () => {
      await answers('256700123456', 'wamid.in-media', new Date());
      const cases = [
        [{ url: 'https://127.0.0.1:8443/a/photo.JPG', caption: 'A photo' }, 'image', { caption: 'A photo' }],
        [{ url: 'https://127.0.0.1:8443/film.mp4?x=1' }, 'video', {}],
        [{ url: 'https://127.0.0.1:8443/voice.ogg' }, 'audio', {}],
        [{ url: 'https://127.0.0.1:8443/bill' }, 'document', {}],
        [{ url: 'https://127.0.0.1:8443/bill', kind: 'image' }, 'image', {}],
      ] as const;
      for (const [media, kind, more] of cases) {
        await accepted({ type: 'media', media });
        const { url } = media;
        expect(platform.requests.at(-1)?.body).toMatchObject({ type: kind, [kind]: { link: url, ...more } });
      }
    });

    it('media from private addresses are refused', async () => {
      for (const url of ['http://10.0.0.1/a.png', 'http://169.254.169.254/latest', 'file:///etc/passwd']) {
        const answered = await send({ type: 'media', media: { url } });
        expect(answered.body.error.code).toBe('validation_error');
        expect(answered.body.error.details.fields[0].path).toBe('media.url');
      }
    });
  });

  it.each([
    ['no type', { type: undefined }, 'type'],
    ['a type without its content', { type: 'text' }, 'text'],
    ['an empty text', { type: 'text', text: { body: '' } }, 'text.body'],
    ['a text that is too long', { type: 'text', text: { body: 'x'.repeat(4097) } }, 'text.body'],
    ['a template whose name is none', { template: { name: 'No Such', language: 'en' } }, 'template.name'],
    ['a language that is none', { template: { name: 'a', language: 'english!' } }, 'template.language'],
  ])('is refused with %s', async (_name, change, path) => {
    const answered = await send(change);
    expect([answered.status, answered.body.error.code]).toEqual([400, 'validation_error']);
    expect(answered.body.error.details.fields[0].path).toBe(path);
  });

  it.each([['no number'], ['+256700123456,+256700123457'], ['']])(
    'a message to %p is refused',
    async (to) => {
      const answered = await send({ to });
      expect([answered.status, answered.body.error.code]).toEqual([400, 'invalid_phone_number']);
    },
  );

  describe('status callbacks', () => {
    it('set delivered, then read, with one event each, in any number and order (R142, R143)', async () => {
      const { id, sid } = await accepted();
      await say(statusCallback(sid, 'sent'));
      expect((await lookUp(id)).status).toBe('sent');
      await say(statusCallback(sid, 'delivered'));
      await say(statusCallback(sid, 'delivered'));
      expect(await lookUp(id)).toMatchObject({ status: 'delivered', readAt: null });
      await Promise.all([1, 2, 3].map(() => say(statusCallback(sid, 'read'))));
      await say(statusCallback(sid, 'delivered'));
      await say(statusCallback(sid, 'sent'));
      const found = await lookUp(id);
      expect(found).toMatchObject({ status: 'delivered', readAt: expect.any(String) });
      expect(found.timeline.map((entry: { status: string }) => entry.status)).toEqual(
        expect.arrayContaining(['pending', 'sent', 'delivered', 'read']),
      );
      expect(await eventsOf(id)).toEqual(['whatsapp.delivered', 'whatsapp.read']);
      const hook = await receiver.waitFor(
        ({ body }) => body.messageId === id && body.event === 'whatsapp.read',
      );
      expect(hook.body).toMatchObject({
        channel: 'whatsapp',
        data: { to: '+256700123456', sid, readAt: found.readAt },
      });
    });

    it('read before delivered sets both, once each', async () => {
      const { id, sid } = await accepted();
      await say(statusCallback(sid, 'read'));
      await say(statusCallback(sid, 'delivered'));
      await say(statusCallback(sid, 'read'));
      expect(await lookUp(id)).toMatchObject({ status: 'delivered', readAt: expect.any(String) });
      expect(await eventsOf(id)).toEqual(['whatsapp.delivered', 'whatsapp.read']);
    });

    it('repeated within one call count once', async () => {
      const { id, sid } = await accepted();
      const call = statusCallback(sid, 'read', {}, ['read', 'delivered', 'read', 'failed']);
      await say(call);
      expect(await lookUp(id)).toMatchObject({ status: 'delivered', readAt: expect.any(String) });
      expect(await eventsOf(id)).toEqual(['whatsapp.delivered', 'whatsapp.read']);
    });

    it('that arrive before the answer to the send wait for it', async () => {
      const id = `wamid.early-${Date.now()}`;
      await say(statusCallback(id, 'read'));
      await say(statusCallback(id, 'delivered'));
      answer = (request) => taken(request.body.to, id);
      const sent = await send({});
      await eventually(async () => (await lookUp(sent.body.id)).readAt !== null);
      expect(await eventsOf(sent.body.id)).toEqual(['whatsapp.delivered', 'whatsapp.read']);
    });

    it('with text that cannot be stored are accepted, and match the message by the same id', async () => {
      const sid = `wamid.\0odd\uD800${'x'.repeat(12_000)}`;
      answer = (request) => taken(request.body.to, sid);
      const { id } = await accepted();
      const errors = [{ code: 131026, title: 'Undeliv\0erable', message: 'No \0 such \uD800 user' }];
      await say(statusCallback(sid, 'failed', { errors }));
      const found = await lookUp(id);
      expect(found).toMatchObject({
        status: 'failed',
        sid: expect.stringMatching(/^wamid\.\uFFFDodd\uFFFDx+$/),
      });
      expect(found.recipients[0].error.message).toContain('such');
      await say(statusCallback('wamid.\0nobody', 'failed', { errors }));
      await say(inboundCallback('256700123999', `wamid.\0${'y'.repeat(12_000)}`, new Date()));
    });

    it('set failed with the meaning of the code, and later ones change nothing (R144)', async () => {
      const { id, sid } = await accepted();
      const errors = [
        {
          code: 131047,
          title: 'Re-engagement message',
          error_data: { details: 'More than 24 hours have passed' },
        },
      ];
      await say(statusCallback(sid, 'failed', { errors }));
      await say(statusCallback(sid, 'failed', { errors }));
      await say(statusCallback(sid, 'delivered'));
      await say(statusCallback(sid, 'read'));
      expect(await lookUp(id)).toMatchObject({
        status: 'failed',
        readAt: null,
        recipients: [{ error: { code: 'session_window_closed' } }],
      });
      expect(await eventsOf(id)).toEqual(['whatsapp.failed']);
      const hook = await receiver.waitFor(({ body }) => body.messageId === id);
      expect(hook.body.data).toMatchObject({
        errorCode: 'session_window_closed',
        stage: 'delivery',
        permanent: true,
        error: expect.stringContaining('More than 24 hours'),
      });
    });

    it('with a bad signature get 401 and change nothing', async () => {
      const { id, sid } = await accepted();
      const body = JSON.stringify(statusCallback(sid, 'delivered'));
      const wrong = await callBack(gateway.url, body, 'another-secret');
      expect([wrong.status, ((await wrong.json()) as { error: string }).error]).toEqual([
        401,
        'unauthorized',
      ]);
      const url = `${gateway.url}/callbacks/whatsapp`;
      const headers = { 'Content-Type': 'application/json' };
      expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(401);
      const signed = (signature: string) =>
        fetch(url, { method: 'POST', headers: { ...headers, 'X-Hub-Signature-256': signature }, body });
      expect((await signed('sha256=')).status).toBe(401);
      expect((await signed('x'.repeat(71))).status).toBe(401);
      const inbound = JSON.stringify(inboundCallback('256700000009', 'wamid.in-9', new Date()));
      expect((await callBack(gateway.url, inbound, 'another-secret')).status).toBe(401);
      expect((await lookUp(id)).status).toBe('sent');
      const window = await gateway.call('GET', '/developers/whatsapp/window?to=0700000009', {
        key: account.key,
      });
      expect(window.body.lastInboundAt).toBeNull();
    });

    it.each([
      ['of messages that nobody sent', statusCallback('wamid.unknown', 'delivered')],
      ['of kinds that do not exist yet', statusCallback('wamid.unknown', 'played')],
      [
        'about other things',
        { object: 'whatsapp_business_account', entry: [{ changes: [{ field: 'x', value: null }] }] },
      ],
      ['of another form', { entry: [null, 5, { changes: 'x' }] }],
      ['with no JSON', 'not JSON'],
      [
        'with a reaction and a broken message',
        inboundCallback('256700000010', 'wamid.r', new Date(), { type: 'reaction', timestamp: 'x' }),
      ],
    ])('%s are accepted and change nothing', async (_name, body) => {
      expect((await callBack(gateway.url, body)).status).toBe(200);
    });
  });

  describe('the handshake', () => {
    const shake = (query: Record<string, string>) =>
      fetch(`${gateway.url}/callbacks/whatsapp?${new URLSearchParams(query)}`);

    it('returns the challenge as plain text', async () => {
      const answered = await shake({
        'hub.mode': 'subscribe',
        'hub.verify_token': 'verify-me',
        'hub.challenge': '1158201444<b>',
      });
      expect([answered.status, await answered.text()]).toEqual([200, '1158201444<b>']);
      expect(answered.headers.get('content-type')).toMatch(/^text\/plain/);
    });

    it.each([
      ['a wrong token', { 'hub.mode': 'subscribe', 'hub.verify_token': 'guess', 'hub.challenge': '1' }],
      ['no token', { 'hub.mode': 'subscribe', 'hub.challenge': '1' }],
      ['another mode', { 'hub.mode': 'unsubscribe', 'hub.verify_token': 'verify-me', 'hub.challenge': '1' }],
    ])('is 403 for %s', async (_name, query) => {
      const answered = await shake(query as unknown as Record<string, string>);
      expect(answered.status).toBe(403);
      expect(((await answered.json()) as { error: string }).error).toBe('forbidden');
    });
  });

  it.each([
    [131047, 400, 'session_window_closed'],
    [132001, 404, 'unknown_template'],
    [131026, 400, 'undeliverable'],
    [100, 400, '100'],
  ])('refused with %i fails as the code means, once', async (code, status, errorCode) => {
    answer = () => refused(status, code, 'The details');
    const sent = await send({});
    const found = await becomes(sent.body.id, 'failed');
    expect(found.recipients[0].error).toEqual({
      code: errorCode,
      message: expect.stringContaining('The details'),
    });
    const hook = await receiver.waitFor(({ body }) => body.messageId === sent.body.id);
    expect(hook.body).toMatchObject({
      event: 'whatsapp.failed',
      data: { to: '+256700123456', errorCode, stage: 'submission', permanent: true },
    });
    expect(await eventsOf(sent.body.id)).toEqual(['whatsapp.failed']);
  });

  it.each<[string, (to: string) => unknown]>([
    ['no messages', (to) => ({ messaging_product: 'whatsapp', contacts: [{ input: to, wa_id: to }] })],
    ['a message without an id', () => ({ messages: [{}] })],
    ['an empty id', () => ({ messages: [{ id: '' }] })],
  ])('accepted with %s in the answer is sent, once', async (_what, body) => {
    let count = 0;
    answer = (request) => {
      count += 1;
      return count === 1 ? { status: 200, body: body(request.body.to) } : take(request);
    };
    const sent = await send({});
    const found = await becomes(sent.body.id, 'sent');
    expect(found.sid).toBe(`unnamed:${sent.body.id}:0:0`);
    expect(count).toBe(1);
  });

  it('sends events that match the samples of the event list', async () => {
    const { body } = await gateway.call('GET', '/developers/webhooks/events', { key: account.key });
    await eventually(() => new Set(receiver.received.map((hook) => hook.body.event)).size === 3);
    for (const hook of receiver.received) {
      const { sample } = body.data.find(({ event }: { event: string }) => event === hook.body.event);
      expect(Object.keys(hook.body.data).sort()).toEqual(Object.keys(sample.data).sort());
    }
  });

  it('a message that the platform cannot accept now is retried, and the operator sees the cause', async () => {
    let count = 0;
    answer = (request) => {
      count += 1;
      if (count === 1) return refused(429, 130429, 'Rate limit hit');
      if (count === 2) return refused(401, 190, 'Access token has expired');
      if (count === 3) return { status: 408, body: 'Request Timeout' };
      return take(request);
    };
    const sent = await send({});
    await eventually(() => count >= 2);
    await eventually(() => {
      const health = gateway.parts.routing.health().find(({ name }) => name.startsWith('whatsapp:'));
      return health?.state === 'down' && health.detail?.includes('190');
    });
    const found = await becomes(sent.body.id, 'sent');
    const notes = found.timeline.filter((entry: { detail?: string }) =>
      entry.detail?.startsWith('Unavailable: '),
    );
    expect(notes).toHaveLength(3);
    expect(gateway.parts.routing.health().find(({ name }) => name.startsWith('whatsapp:'))?.state).toBe('up');
  });

  it('repeats its first answer under an idempotency key, also when the window is closed (R19)', async () => {
    const body = {
      to: '+256700000020',
      type: 'text',
      text: { body: 'Hello' },
      idempotencyKey: 'whatsapp-once',
    };
    await answers('256700000020', 'wamid.in-20', new Date());
    const first = await send(body);
    const again = await send({ ...body, to: '+256700000021' });
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('can be scheduled and canceled, and is in its history (R18, R20)', async () => {
    const scheduledFor = new Date(Date.now() + HOUR_MS).toISOString();
    const sent = await send({ to: '+256700000030', scheduledFor });
    expect(sent.body).toMatchObject({ status: 'pending', scheduledFor });
    const canceled = await gateway.call('DELETE', `/developers/messages/${sent.body.id}`, {
      key: account.key,
    });
    expect(canceled.body.status).toBe('failed');
    expect(await eventsOf(sent.body.id)).toEqual([]);
    const history = await gateway.call('GET', '/developers/whatsapp/history?to=0700000030', {
      key: account.key,
    });
    expect(history.body.data).toMatchObject([{ id: sent.body.id, status: 'failed', to: ['+256700000030'] }]);
  });

  it('needs SEND_WHATSAPP (R22)', async () => {
    const { key } = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS', 'READ_MESSAGES'] });
    expect((await send({}, key)).status).toBe(403);
    expect((await gateway.call('GET', '/developers/whatsapp/window?to=0700123456', { key })).status).toBe(
      403,
    );
  });

  it('in the sandbox sends nothing and causes no event (R26)', async () => {
    const sent = await send({ to: '0700123999' }, account.sandboxKey);
    expect(sent.body).toMatchObject({ sandbox: true, status: 'sent', cost: 0 });
    await accepted();
    expect(platform.requests.filter(({ body }) => body.to === '256700123999')).toEqual([]);
    expect(await eventsOf(sent.body.id)).toEqual([]);
  });
});

describe('WhatsApp without configuration', () => {
  it('is simulated: accepted, delivered, read', async () => {
    await using gateway = await startTestGateway();
    const account = await gateway.createAccount();
    const body = { to: '+256700123456', ...TEMPLATE };
    const sent = await gateway.call('POST', '/developers/whatsapp', { key: account.key, body });
    await eventually(async () => {
      const found = await gateway.call('GET', `/developers/messages/${sent.body.id}`, { key: account.key });
      return found.body.status === 'delivered' && found.body.readAt !== null;
    });
  });

  it('is 503 in production, and accepts no callback (R26)', async () => {
    await using gateway = await startTestGateway({ NODE_ENV: 'production' });
    const account = await gateway.createAccount();
    const body = { to: '+256700123456', ...TEMPLATE };
    const answer = await gateway.call('POST', '/developers/whatsapp', { key: account.key, body });
    expect([answer.status, answer.body.error.code]).toEqual([503, 'service_unavailable']);
    expect(answer.body.error.message).toContain('whatsapp');
    const callback = await callBack(gateway.url, inboundCallback('256700123456', 'wamid.x', new Date()), '');
    expect(callback.status).toBe(401);
    const handshake = await fetch(`${gateway.url}/callbacks/whatsapp?hub.mode=subscribe&hub.challenge=1`);
    expect(handshake.status).toBe(403);
  });
});
