/** HTTP APIs of carriers on loopback. They answer in the carriers' own formats. A test can make them misbehave. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly form: URLSearchParams;
}

/** `silent`: never answer. `drop`: close the connection instead of answering. */
export type ApiReply =
  | 'silent'
  | 'drop'
  | { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };

export type SmsApi = Awaited<ReturnType<typeof startSmsApi>>;

/**
 * Starts an API. `reply` returns its answers, until `answerWith` sets another function. A text is sent as the body
 * without changes.
 */
export async function startSmsApi(reply: (request: ApiRequest, count: number) => ApiReply) {
  let now = reply;
  let isGone = false;
  const requests: ApiRequest[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        form: new URLSearchParams(Buffer.concat(chunks).toString('utf8')),
      };
      requests.push(received);
      const answer = now(received, requests.length);
      if (answer === 'silent') return;
      if (answer === 'drop') {
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    if (isGone) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    requests,
    connections: () => sockets.size,
    answerWith(next: (request: ApiRequest, count: number) => ApiReply) {
      now = next;
    },
    /** While `gone` is true: closes every connection, and each new one. */
    beGone(gone: boolean) {
      isGone = gone;
      if (gone) for (const socket of sockets) socket.destroy();
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Returns Africa's Talking's answer about one recipient. */
export function africasTalkingAnswer(to: string, statusCode: number, status: string, messageId = 'None') {
  const taken = statusCode < 400;
  const recipient = { statusCode, number: to, status, cost: taken ? 'UGX 30.0000' : '0', messageId };
  const Message = `Sent to ${taken ? 1 : 0}/1 Total Cost: ${recipient.cost}`;
  return { status: 201, body: { SMSMessageData: { Message, Recipients: [recipient] } } };
}

/** Returns Twilio's answer to a message that it has queued. */
export function twilioAnswer(form: URLSearchParams, sid: string) {
  const body = {
    sid,
    account_sid: 'AC0123',
    to: form.get('To'),
    from: form.get('From'),
    body: form.get('Body'),
    status: 'queued',
    num_segments: '1',
    error_code: null,
    error_message: null,
  };
  return { status: 201, body };
}

/** Returns Twilio's answer to a request that it refuses. */
export function twilioError(status: number, code: number, message: string) {
  return { status, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status } };
}
