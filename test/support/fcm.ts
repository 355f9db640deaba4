/** A simulator of Google's servers: a token server that checks the signed assertion, and FCM HTTP v1. */
import { generateKeyPairSync, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

const PROJECT = 'a-project';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

export interface FcmRequest {
  readonly token: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the gateway sent
  readonly message: any;
}
export interface FcmAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Returns an error in FCM's format. `errorCode` is FCM's own code, `status` the general one of Google's APIs. */
export const fcmError = (
  code: number,
  status: string,
  errorCode?: string,
  headers: Readonly<Record<string, string>> = {},
): FcmAnswer => ({
  status: code,
  headers,
  body: {
    error: {
      code,
      message: `about ${status}`,
      status,
      ...(errorCode === undefined
        ? {}
        : { details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }] }),
    },
  },
});

/** Starts the simulator on loopback. A test can change its behaviour at any time. */
export async function startFcm() {
  const requests: FcmRequest[] = [];
  const sockets = new Set<Socket>();
  let tokens = 0;
  let begun = 0;
  const behaviour = {
    /** Returns the answer to a message. Undefined: accept it. */
    answer: (_request: FcmRequest, _count: number): FcmAnswer | 'hang' | 'reset' | undefined => undefined,
    /** Lifetime of tokens in seconds. */
    expiresIn: 3600,
    /** True if a token is accepted. */
    isValid: (token: string) => token === `ya29.${tokens}`,
    /** HTTP status of the answers to token requests. */
    tokenStatus: 200,
  };

  function giveToken(body: string, response: ServerResponse, uri: string): void {
    const form = new URLSearchParams(body);
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    const { iss, scope, aud, iat, exp } = read(claims);
    const isRight =
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      read(header).alg === 'RS256' &&
      read(header).kid === 'key-1' &&
      verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url')) &&
      iss === 'gateway@a-project.iam.gserviceaccount.com' &&
      scope === 'https://www.googleapis.com/auth/firebase.messaging' &&
      aud === uri &&
      Math.abs(iat - Date.now() / 1000) < 60 &&
      exp - iat <= 3600;
    const status = isRight ? behaviour.tokenStatus : 400;
    if (status !== 200)
      return void response.writeHead(status).end(JSON.stringify({ error: 'invalid_grant' }));
    tokens += 1;
    const given = { access_token: `ya29.${tokens}`, expires_in: behaviour.expiresIn, token_type: 'Bearer' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given));
  }

  function takeMessage(request: IncomingMessage, body: string, response: ServerResponse): void {
    begun += 1;
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    const send = ({ status, body: answer, headers }: FcmAnswer) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(answer === undefined ? '' : JSON.stringify(answer));
    if (!behaviour.isValid(token)) return void send(fcmError(401, 'UNAUTHENTICATED'));
    const taken = { token, message: JSON.parse(body).message };
    requests.push(taken);
    const answer = behaviour.answer(taken, requests.length);
    if (answer === 'hang') return;
    if (answer === 'reset') return void request.socket.destroy();
    send(answer ?? { status: 200, body: { name: `projects/${PROJECT}/messages/0:${requests.length}` } });
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      if (request.url === '/token') giveToken(body, response, `${url}/token`);
      else if (request.url === `/v1/projects/${PROJECT}/messages:send`) takeMessage(request, body, response);
      else response.writeHead(404).end();
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    behaviour,
    requests,
    tokensGiven: () => tokens,
    begun: () => begun,
    connections: () => sockets.size,
    /** The content of the service account's JSON file. */
    credentials: JSON.stringify({
      type: 'service_account',
      project_id: PROJECT,
      private_key_id: 'key-1',
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: 'gateway@a-project.iam.gserviceaccount.com',
      token_uri: `${url}/token`,
    }),
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
