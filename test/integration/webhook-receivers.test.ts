import { connect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  createGuardedClient,
  type GuardedClientOptions,
} from '../../src/channels/guarded-http/guarded-client.ts';
import { createWebhookTransport } from '../../src/channels/webhook/webhook-transport.ts';
import type { WebhookTransport } from '../../src/domain/ports/webhook-transport.ts';
import { verifyWebhook } from '../../src/domain/webhooks/webhook-signature.ts';
import { eventually } from '../support/eventually.ts';
import { answer, fixture, identity, type RawReceiver, rawReceiver } from '../support/raw-receiver.ts';

/** Makes a connection to `PUBLIC` end at the receiver. The socket reports `PUBLIC` as its peer. */
const PUBLIC = '93.184.215.14';
const internet = (options: TcpNetConnectOpts) => {
  const socket = connect({ ...options, host: options.host === PUBLIC ? '127.0.0.1' : options.host });
  return options.host === PUBLIC ? Object.defineProperty(socket, 'remoteAddress', { value: PUBLIC }) : socket;
};

/** Timeout in ms for attempts that end by themselves. No machine needs this long. */
const PATIENCE_MS = 60_000;
/** Timeout in ms for attempts that only end by their timeout. */
const TIMEOUT_MS = 1_000;
/** How late in ms an attempt may end on a busy machine. */
const SLACK_MS = 10_000;
const AT = new Date(1_700_000_000_000);

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function receiving(...args: Parameters<typeof rawReceiver>): Promise<RawReceiver> {
  const receiver = await rawReceiver(...args);
  closers.push(receiver.close);
  return receiver;
}

function transporting(
  options: Partial<GuardedClientOptions> = {},
  timeoutMs: number = PATIENCE_MS,
): WebhookTransport {
  const transport = createWebhookTransport({
    client: createGuardedClient({
      allowedNetworks: ['127.0.0.0/8'],
      requireHttps: false,
      maxConnectionsPerAccount: 4,
      resolve: async () => [PUBLIC],
      dial: internet,
      tls: { ca: fixture('tls-test-only/ca.pem') },
      ...options,
    }),
    serviceName: 'Acme',
    timeoutMs,
  });
  closers.push(() => transport.close());
  return transport;
}

const post = (
  transport: WebhookTransport,
  url: string,
  body: string | Uint8Array = '{"event":"sms.sent"}',
  accountId = 'account',
) =>
  transport.attempt({
    accountId,
    url,
    secret: 'whsec_test',
    deliveryId: 'd-1',
    event: 'sms.sent',
    body,
    at: AT,
  });
const raw = (text: string) => (socket: Socket) => {
  socket.write(text);
};
const hold = (socket: Socket) => {
  // Keeps the connection open and sends nothing more.
  socket.resume();
};
/** Sends `chunk` again and again, every `everyMs`, until the socket is closed. */
const drip = (socket: Socket, chunk: string, everyMs: number) => {
  const timer = setInterval(() => socket.write(chunk), everyMs);
  socket.on('close', () => clearInterval(timer));
};
const flood = (socket: Socket, chunk: Buffer) => {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
};

describe('a webhook attempt', () => {
  it('is one signed POST with the documented headers, over a kept connection', async () => {
    const receiver = await receiving((socket) => socket.write(answer(200, 'thanks')));
    const transport = transporting();
    const body = '{"event":"sms.sent","data":{"message":"Olá 😀"}}';
    for (let round = 0; round < 20; round += 1) {
      const result = await post(transport, `http://hooks.example.test:${receiver.port}/in?a=1`, body);
      expect(result).toEqual({
        ok: true,
        httpStatus: 200,
        responseBody: 'thanks',
        errorMessage: null,
        durationMs: expect.any(Number),
      });
    }
    // undici frees a connection one turn of the event loop after the answer. So the next request may open a second one.
    expect(receiver.accepted).toBeLessThanOrEqual(2);
    const [head = '', sent = ''] = (receiver.requests[0] ?? '').split('\r\n\r\n');
    expect(head).toMatch(/^POST \/in\?a=1 HTTP\/1\.1\r\n/);
    expect(head).toMatch(/\r\nX-Acme-Event: sms\.sent\r\n/);
    expect(head).toMatch(/\r\nX-Acme-Delivery: d-1(\r\n|$)/);
    expect(head).toMatch(/\r\nUser-Agent: Acme-Webhooks\/1\.0\r\n/);
    expect(head).toMatch(/\r\nContent-Type: application\/json\r\n/);
    expect(head).not.toMatch(/accept-encoding/i);
    const signature = /\r\nX-Acme-Signature: (\S+)/.exec(head)?.[1] ?? '';
    expect(verifyWebhook('whsec_test', signature, Buffer.from(sent, 'latin1'), 1_700_000_000)).toBe(true);
  });

  it.each([
    [500, 'answered 500'],
    [404, 'answered 404'],
    [304, 'answered 304'],
    [301, 'answered 301; redirects are not followed'],
    [308, 'answered 308; redirects are not followed'],
  ])('with the answer %i fails and says so', async (status, errorMessage) => {
    const elsewhere = await receiving((socket) => socket.write(answer(200)));
    const to = [`Location: http://127.0.0.1:${elsewhere.port}/`];
    const receiver = await receiving((socket) => socket.write(answer(status, '', to)));
    const result = await post(transporting(), `http://127.0.0.1:${receiver.port}/`);
    expect(result).toMatchObject({ ok: false, httpStatus: status, errorMessage });
    expect(elsewhere.accepted).toBe(0);
  });

  it('with the answer 204 succeeds', async () => {
    const receiver = await receiving(raw('HTTP/1.1 204 No Content\r\n\r\n'));
    const result = await post(transporting(), `http://127.0.0.1:${receiver.port}/`);
    expect(result).toMatchObject({ ok: true, httpStatus: 204, responseBody: '' });
  });
});

interface Case {
  what: string;
  serve: (socket: Socket) => void;
  wanted: { ok: boolean } & Record<string, unknown>;
  /** True if only the timeout ends the attempt. */
  isEndless?: true;
}
const HEAD = 'HTTP/1.1 200 OK\r\n';
const bomb = gzipSync(Buffer.alloc(50_000_000));

const plain: Case[] = [
  {
    what: 'never answers',
    isEndless: true,
    serve: hold,
    wanted: { ok: false, httpStatus: null, errorMessage: 'timed out after 1 s waiting for the answer' },
  },
  {
    what: 'drips header bytes',
    serve: (socket) => drip(socket, 'H', 20),
    wanted: { ok: false, httpStatus: null, errorMessage: expect.stringMatching(/not HTTP/) },
  },
  {
    what: 'drips headers without end',
    isEndless: true,
    serve: (socket) => {
      socket.write(HEAD);
      drip(socket, 'X-A: b\r\n', 20);
    },
    wanted: { ok: false, httpStatus: null, errorMessage: 'timed out after 1 s waiting for the answer' },
  },
  {
    what: 'sends 103s without end',
    isEndless: true,
    serve: (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 20),
    wanted: { ok: false, httpStatus: null, errorMessage: 'timed out after 1 s waiting for the answer' },
  },
  {
    what: 'sends endless headers',
    serve: (socket) => {
      socket.write(HEAD);
      flood(socket, Buffer.from(`X-A: ${'b'.repeat(1000)}\r\n`));
    },
    wanted: { ok: false, httpStatus: null, errorMessage: 'the headers of the answer are too large' },
  },
  {
    what: 'drips body bytes',
    isEndless: true,
    serve: (socket) => {
      socket.write(`${HEAD}Content-Length: 5000\r\n\r\nok`);
      drip(socket, '.', 20);
    },
    wanted: {
      ok: false,
      httpStatus: 200,
      responseBody: expect.stringMatching(/^ok\.+$/),
      errorMessage: 'answered 200, but timed out after 1 s while the answer was read',
    },
  },
  {
    what: 'sends an endless body',
    serve: (socket) => {
      socket.write(`${HEAD}\r\n`);
      flood(socket, Buffer.alloc(65_536, 'e'));
    },
    wanted: { ok: true, httpStatus: 200, responseBody: 'e'.repeat(10_240), errorMessage: null },
  },
  {
    what: 'sends an endless chunked body with a 500',
    serve: (socket) => {
      socket.write('HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n');
      flood(socket, Buffer.from(`2000\r\n${'e'.repeat(0x2000)}\r\n`));
    },
    wanted: { ok: false, httpStatus: 500, responseBody: 'e'.repeat(10_240), errorMessage: 'answered 500' },
  },
  {
    what: 'fills the limit exactly and then hangs',
    isEndless: true,
    serve: (socket) => socket.write(`${HEAD}Content-Length: 20000\r\n\r\n${'f'.repeat(10_240)}`),
    wanted: { ok: true, httpStatus: 200, responseBody: 'f'.repeat(10_240), errorMessage: null },
  },
  {
    what: 'resets before answering',
    serve: (socket) => socket.resetAndDestroy(),
    wanted: { ok: false, httpStatus: null, errorMessage: 'connection reset before an answer came' },
  },
  {
    what: 'hangs up before answering',
    serve: (socket) => socket.end(),
    wanted: { ok: false, httpStatus: null, errorMessage: 'connection closed before an answer came' },
  },
  {
    what: 'resets in the middle of the body',
    serve: (socket) => {
      socket.write(`${HEAD}Content-Length: 1000\r\n\r\npartial`);
      setImmediate(() => socket.resetAndDestroy());
    },
    wanted: { ok: false, httpStatus: 200, errorMessage: expect.stringMatching(/reset/) },
  },
  {
    what: 'hangs up in the middle of the body',
    serve: (socket) => socket.end(`${HEAD}Content-Length: 1000\r\n\r\npartial`),
    wanted: {
      ok: false,
      httpStatus: 200,
      responseBody: 'partial',
      errorMessage: 'answered 200, but connection closed while the answer was read',
    },
  },
  {
    what: 'answers a gzip bomb',
    serve: (socket) => socket.write(answer(200, bomb, ['Content-Encoding: gzip'])),
    wanted: { ok: true, httpStatus: 200, errorMessage: null },
  },
  {
    what: 'answers invalid UTF-8 and U+0000',
    serve: (socket) =>
      socket.write(answer(200, Buffer.from([0x61, 0xff, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x62]))),
    wanted: {
      ok: true,
      httpStatus: 200,
      responseBody: 'a\ufffd\ufffd\ufffd(\ufffd\ufffd\ufffdb',
      errorMessage: null,
    },
  },
  {
    what: 'answers something that is not HTTP',
    serve: raw('220 mail.example.com ESMTP\r\n'),
    wanted: {
      ok: false,
      httpStatus: null,
      errorMessage: expect.stringContaining('the answer is not HTTP/1.1'),
    },
  },
  {
    what: 'switches protocols unasked',
    serve: raw('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'),
    wanted: {
      ok: false,
      httpStatus: null,
      errorMessage: expect.stringMatching(/^answered with an upgrade, which was not asked for$|not HTTP/),
    },
  },
  {
    what: 'answers 100 Continue unasked',
    serve: raw(`HTTP/1.1 100 Continue\r\n\r\n${HEAD}Content-Length: 2\r\n\r\nok`),
    wanted: {
      ok: false,
      httpStatus: null,
      errorMessage: 'answered 100 Continue, which was not asked for',
    },
  },
  {
    what: 'answers with two Content-Lengths',
    serve: raw(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\nokk`),
    wanted: { ok: false, errorMessage: expect.stringMatching(/not HTTP|Content-Length/) },
  },
];

describe('a receiver that misbehaves: the record is true and in time, and no socket is left', () => {
  const transportFor = ({ isEndless }: Case) => transporting({}, isEndless ? TIMEOUT_MS : PATIENCE_MS);

  it.each(plain.map((entry) => [entry.what, entry] as const))('%s', async (_, entry) => {
    const receiver = await receiving(entry.serve);
    const transport = transportFor(entry);
    const result = await post(transport, `http://hooks.example.test:${receiver.port}/hook`);
    expect(result).toMatchObject(entry.wanted);
    expect(result.durationMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
    expect(result.responseBody ?? '').not.toContain('\u0000');
    expect(Buffer.byteLength(result.responseBody ?? '')).toBeLessThanOrEqual(10_240);
    await transport.close();
    await eventually(() => receiver.open === 0);
    expect(receiver.accepted).toBe(1);
  });

  it.each(plain.filter(({ wanted }) => wanted.ok === false).map((entry) => [entry.what, entry] as const))(
    '%s: the socket closes before the client does',
    async (_, entry) => {
      const receiver = await receiving(entry.serve);
      await post(transportFor(entry), `http://hooks.example.test:${receiver.port}/hook`);
      await eventually(() => receiver.open === 0);
    },
  );

  it('does not split a character at the limit of what is kept', async () => {
    const receiver = await receiving((socket) => socket.write(answer(200, `x${'é'.repeat(10_000)}`)));
    const result = await post(transporting(), `http://127.0.0.1:${receiver.port}/`);
    expect(result.responseBody).toBe(`x${'é'.repeat(5_119)}`);
  });

  it('says that the port refuses', async () => {
    const receiver = await rawReceiver(hold);
    await receiver.close();
    const result = await post(transporting(), `http://hooks.example.test:${receiver.port}/`);
    expect(result.errorMessage).toBe(`connection to ${PUBLIC}:${receiver.port} refused`);
  });

  it('says the same for an unknown name and a lookup that took too long', async () => {
    const unknown = transporting({
      resolve: async () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
    });
    expect((await post(unknown, 'https://hooks.example.test/')).errorMessage).toBe(
      'the host does not resolve to a public address',
    );
    const silent = transporting({ resolve: () => new Promise(() => undefined) }, TIMEOUT_MS);
    const result = await post(silent, 'https://hooks.example.test/');
    expect(result.errorMessage).toBe('the host does not resolve to a public address');
    expect(result.durationMs).toBeLessThan(TIMEOUT_MS + SLACK_MS);
  });

  it('ends when the client is closed during an attempt', async () => {
    const receiver = await receiving(hold);
    const transport = transporting();
    const pending = post(transport, `http://127.0.0.1:${receiver.port}/`);
    await eventually(() => receiver.requests.length === 1);
    await transport.close();
    expect((await pending).errorMessage).toBe('the gateway is shutting down');
    expect((await post(transport, `http://127.0.0.1:${receiver.port}/`)).errorMessage).toBe(
      'the gateway is shutting down',
    );
    await eventually(() => receiver.open === 0);
  });
});

describe('a receiver whose TLS is broken', () => {
  const ok = (socket: Socket) => socket.write(answer(200, 'ok'));
  it.each([
    ['a good certificate', 'server', 'hooks.example.test', { ok: true, errorMessage: null }],
    ['a good certificate for the address', 'server', '127.0.0.1', { ok: true, errorMessage: null }],
    [
      'a self-signed certificate',
      'self-signed',
      'hooks.example.test',
      { ok: false, errorMessage: 'certificate is self-signed and not trusted' },
    ],
    [
      'an expired certificate',
      'expired',
      'hooks.example.test',
      { ok: false, errorMessage: 'certificate expired on 2021-02-03' },
    ],
    [
      "another name's certificate",
      'other-name',
      'hooks.example.test',
      { ok: false, errorMessage: 'certificate is not for hooks.example.test' },
    ],
  ])('%s', async (_, name, host, wanted) => {
    const receiver = await receiving(ok, { tls: identity(name) });
    const transport = transporting();
    expect(await post(transport, `https://${host}:${receiver.port}/`)).toMatchObject(wanted);
    if (!wanted.ok) {
      await eventually(() => receiver.open === 0);
      expect(receiver.requests).toEqual([]);
    }
  });

  it('an untrusted issuer', async () => {
    const receiver = await receiving(ok, { tls: identity('server') });
    const result = await post(transporting({ tls: {} }), `https://hooks.example.test:${receiver.port}/`);
    expect(result.errorMessage).toBe('certificate chain is incomplete or its issuer is not trusted');
  });

  it.each<[string, (socket: Socket) => void, string]>([
    [
      'plain HTTP where TLS was expected',
      (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      'TLS handshake failed',
    ],
    ['garbage', (socket) => socket.write(Buffer.alloc(100, 0xfe)), 'TLS handshake failed'],
    [
      'a reset in the handshake',
      (socket) => socket.resetAndDestroy(),
      'the connection was closed during the TLS handshake',
    ],
    [
      'a hang-up in the handshake',
      (socket) => socket.end(),
      'the connection was closed during the TLS handshake',
    ],
    ['silence in the handshake', hold, 'timed out after 1 s waiting for a connection'],
  ])('%s', async (_, onHello, words) => {
    const receiver = await receiving(hold, {
      onConnection: (socket) => socket.once('data', () => onHello(socket)),
    });
    const transport = transporting({}, onHello === hold ? TIMEOUT_MS : PATIENCE_MS);
    const result = await post(transport, `https://hooks.example.test:${receiver.port}/`);
    expect(result).toMatchObject({
      ok: false,
      httpStatus: null,
      errorMessage: expect.stringContaining(words),
    });
    await eventually(() => receiver.open === 0);
  });
});

describe('a receiver in a private network that the operator allows', () => {
  /** Makes an attempt. Returns its record, and what the operator's log got. */
  const reach = async (url: string, timeoutMs?: number) => {
    const told: unknown[] = [];
    const options = {
      resolve: async () => ['127.0.0.1'],
      onConcealed: (failure: object) => told.push(failure),
    };
    const transport = transporting(options, timeoutMs);
    const [first, again] = [await post(transport, url), await post(transport, url)];
    expect(again.errorMessage).toBe(first.errorMessage);
    return { ...first, told };
  };

  it.each<[string, string, (socket: Socket) => void, string]>([
    ['closed', 'http', hold, 'connection_refused'],
    ['of another protocol', 'http', raw('220 mail.example.com ESMTP\r\n'), 'bad_response'],
    ['that hangs up', 'http', (socket) => socket.end(), 'connection_reset'],
    ['without TLS', 'https', raw('HTTP/1.1 400 Bad Request\r\n\r\n'), 'tls_error'],
  ])('tells customers nothing of a port %s, and the operator once', async (what, scheme, serve, code) => {
    const receiver = await receiving(serve, {
      onConnection: (socket) => socket.once('data', () => serve(socket)),
    });
    if (what === 'closed') await receiver.close();
    const { told, ...result } = await reach(`${scheme}://hooks.example.test:${receiver.port}/`);
    const errorMessage = 'the connection was refused, broken off or not answered in HTTP';
    expect(result).toMatchObject({ httpStatus: null, errorMessage });
    expect(told).toEqual([{ host: 'hooks.example.test', code, particulars: expect.any(String) }]);
  });

  it('tells customers how long it took, but not for what', async () => {
    const receiver = await receiving(hold);
    const result = await reach(`http://127.0.0.1:${receiver.port}/`, TIMEOUT_MS);
    expect(result.errorMessage).toBe('timed out after 1 s');
    const particulars = 'timed out after 1 s waiting for the answer';
    expect(result.told).toEqual([{ host: '127.0.0.1', code: 'timeout', particulars }]);
  });

  it("tells customers the receiver's answer", async () => {
    const receiver = await receiving((socket) => socket.write(answer(500, 'broken')));
    const result = await reach(`http://127.0.0.1:${receiver.port}/`);
    expect(result).toMatchObject({
      httpStatus: 500,
      responseBody: 'broken',
      errorMessage: 'answered 500',
      told: [],
    });
  });
});

describe('kept connections and changing names', () => {
  it('are not used after the name resolves to another address', async () => {
    const receiver = await receiving((socket) => socket.write(answer(200)), { host: '0.0.0.0' });
    let now = ['127.0.0.1'];
    const dialled: string[] = [];
    const transport = transporting({
      resolve: async () => now,
      allowedNetworks: ['127.0.0.1', '127.0.0.2'],
      dial: (options) => {
        dialled.push(String(options.host));
        return connect(options);
      },
    });
    const url = `http://hooks.example.test:${receiver.port}/`;
    expect((await post(transport, url)).ok).toBe(true);
    now = ['127.0.0.3'];
    expect((await post(transport, url)).errorMessage).toBe('the host does not resolve to a public address');
    now = ['127.0.0.2', '127.0.0.1'];
    expect((await post(transport, url)).ok).toBe(true);
    expect(new Set(dialled)).toEqual(new Set(['127.0.0.1']));
    now = ['127.0.0.2'];
    expect((await post(transport, url)).ok).toBe(true);
    expect(dialled.at(-1)).toBe('127.0.0.2');
    await eventually(() => receiver.open === 1);
  });

  it('use the next address when one refuses', async () => {
    const receiver = await receiving((socket) => socket.write(answer(200)));
    const transport = transporting({ resolve: async () => ['127.0.0.9', PUBLIC] });
    const result = await post(transport, `http://hooks.example.test:${receiver.port}/`);
    expect(result.ok).toBe(true);
  });

  it('attempts wait for a free connection within their own timeout, and slow ones delay no later attempt', async () => {
    let slow = true;
    const receiver = await receiving((socket) => {
      if (!slow) socket.write(answer(200));
    });
    // 3 s: long enough to open two connections on any machine.
    const transport = transporting({ maxConnectionsPerAccount: 2 }, 3_000);
    const url = `http://hooks.example.test:${receiver.port}/`;
    const results = await Promise.all(Array.from({ length: 6 }, () => post(transport, url)));
    const faults = results.map(({ errorMessage }) => errorMessage ?? '');
    const noAnswer = 'timed out after 3 s waiting for the answer';
    expect(faults.slice(0, 2)).toEqual([noAnswer, noAnswer]);
    // All six time out within the same moment. The end of the first two may let others send just before their own end.
    const late = faults.slice(2).filter((fault) => fault === noAnswer);
    expect(late.length).toBeLessThanOrEqual(2);
    expect(receiver.requests.length).toBeGreaterThanOrEqual(2);
    expect(receiver.requests.length).toBeLessThanOrEqual(2 + late.length);
    const waiting = /^timed out after 3 s waiting for (earlier requests|a connection) /;
    expect(faults.slice(2).filter((fault) => waiting.test(fault))).toHaveLength(4 - late.length);
    slow = false;
    expect((await post(transport, url)).ok).toBe(true);
    await eventually(() => receiver.open <= 1);
  });

  it('of one account take no connection from another account on the same origin', async () => {
    const receiver = await receiving((socket, request) => {
      if (request.includes('/fast')) socket.write(answer(200));
    });
    const transport = transporting({ maxConnectionsPerAccount: 2 });
    const url = (path: string) => `http://hooks.example.test:${receiver.port}${path}`;
    let ended = 0;
    const slow = Array.from({ length: 3 }, async () => {
      const result = await post(transport, url('/slow'), '{}', 'slow account');
      ended += 1;
      return result;
    });
    await eventually(() => receiver.requests.length === 2);
    expect((await post(transport, url('/fast'), '{}', 'other account')).ok).toBe(true);
    expect([receiver.requests.length, ended]).toEqual([3, 0]);
    await transport.close();
    expect((await Promise.all(slow)).every(({ ok }) => !ok)).toBe(true);
  });
});
