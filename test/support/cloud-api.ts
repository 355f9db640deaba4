/** A simulator of the WhatsApp platform: an HTTP server that accepts messages and sends signed callbacks. */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export const CLOUD_API = { phoneNumberId: '106540352242922', token: 'EAAB-token', secret: 'app-secret' };

export interface CloudApiRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the gateway sent
  readonly body: any;
}
export interface CloudApiAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns the platform's answer to a message that it accepts. */
export const taken = (to: string, id: string): CloudApiAnswer => ({
  status: 200,
  body: {
    messaging_product: 'whatsapp',
    contacts: [{ input: to, wa_id: to }],
    messages: [{ id }],
  },
});

/** Returns the platform's answer to a message that it refuses. */
export const refused = (status: number, code: number, details: string, headers = {}): CloudApiAnswer => ({
  status,
  headers,
  body: {
    error: {
      message: `(#${code}) Error`,
      type: 'OAuthException',
      code,
      error_data: { messaging_product: 'whatsapp', details },
      fbtrace_id: 'A1b2C3',
    },
  },
});

/** Returns the platform's answer to a question about a number that it knows. */
export const recordOf = (display: string): CloudApiAnswer => ({
  status: 200,
  body: { display_phone_number: display, quality_rating: 'GREEN' },
});

/** Returns the platform's answer to a question about an id of nothing that the app may see. */
export const noSuchObject = (id: string): CloudApiAnswer => ({
  status: 400,
  body: {
    error: {
      message: `Unsupported get request. Object with ID '${id}' does not exist, cannot be loaded due to missing permissions, or does not support this operation`,
      type: 'GraphMethodException',
      code: 100,
      error_subcode: 33,
      fbtrace_id: 'A1b2C3',
    },
  },
});

type Answered = CloudApiAnswer | 'hang' | 'reset';

/**
 * Starts the simulator on loopback. `answer` returns the answer to each message, or 'hang' or 'reset'. `record` does so
 * for a question about a number, by its id. By default the platform knows the gateway's own number only.
 */
export async function startCloudApi(
  answer: (request: CloudApiRequest, count: number) => Answered,
  record: (phoneNumberId: string) => Answered = (id) =>
    id === CLOUD_API.phoneNumberId ? recordOf('+256 700 000000') : noSuchObject(id),
) {
  const requests: CloudApiRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const give = (given: Answered) => {
      if (given === 'hang') return;
      if (given === 'reset') return void request.socket.destroy();
      response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
      response.end(JSON.stringify(given.body));
    };
    // The gateway reads the record of a number now and then. That is no message, so it is not among the requests.
    if (request.method === 'GET') {
      give(record(new URL(request.url ?? '', 'http://x').pathname.split('/').at(-1) ?? ''));
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      const taken = { path: request.url ?? '', headers: request.headers, body };
      requests.push(taken);
      give(answer(taken, requests.length));
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v23.0`,
    requests,
    connections: () => sockets.size,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const envelope = (value: object, phoneNumberId = CLOUD_API.phoneNumberId) => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '102290129340398',
      changes: [
        {
          field: 'messages',
          value: {
            messaging_product: 'whatsapp',
            metadata: { display_phone_number: '15550783881', phone_number_id: phoneNumberId },
            ...value,
          },
        },
      ],
    },
  ],
});

/** Returns a callback with the status of a message, or with all of `statuses`. */
export const statusCallback = (
  id: string,
  status: string,
  more: object = {},
  statuses: readonly string[] = [status],
  phoneNumberId = CLOUD_API.phoneNumberId,
) => {
  const timestamp = String(Math.floor(Date.now() / 1000));
  return envelope(
    {
      statuses: statuses.map((each) => ({
        id,
        status: each,
        timestamp,
        recipient_id: '256700123456',
        ...more,
      })),
    },
    phoneNumberId,
  );
};

/** Returns a callback with an inbound message to the number with this id. */
export const inboundCallback = (
  from: string,
  id: string,
  at: Date,
  more: object = {},
  phoneNumberId = CLOUD_API.phoneNumberId,
) =>
  envelope(
    {
      contacts: [{ profile: { name: 'Amina' }, wa_id: from }],
      messages: [
        {
          from,
          id,
          timestamp: String(Math.floor(at.getTime() / 1000)),
          type: 'text',
          text: { body: 'Hi' },
          ...more,
        },
      ],
    },
    phoneNumberId,
  );

/** Sends a callback to a gateway with the platform's signature. */
export async function callBack(url: string, body: object | string, secret = CLOUD_API.secret) {
  const raw = typeof body === 'string' ? body : JSON.stringify(body);
  const signature = `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`;
  return fetch(`${url}/callbacks/whatsapp`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Hub-Signature-256': signature },
    body: raw,
  });
}
