/** A simulator of Apple's push service (APNs): an HTTP/2 server that checks provider tokens. */
import { generateKeyPairSync, verify } from 'node:crypto';
import {
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
} from 'node:http2';
import type { AddressInfo } from 'node:net';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** The developer account whose key the gateway gets. */
export const APNS_ACCOUNT = {
  key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  keyId: 'ABC123DEFG',
  teamId: 'DEF123GHIJ',
  topic: 'com.example.app',
};

/** Returns the gateway's settings for this account. `url` is the address of the simulator. */
export const apnsVariables = (url: string) => ({
  APNS_KEY: APNS_ACCOUNT.key.replaceAll('\n', '\\n'),
  APNS_KEY_ID: APNS_ACCOUNT.keyId,
  APNS_TEAM_ID: APNS_ACCOUNT.teamId,
  APNS_TOPIC: APNS_ACCOUNT.topic,
  APNS_URL: url,
});

export interface ApnsRequest {
  readonly headers: IncomingHttpHeaders;
  readonly deviceToken: string;
  readonly providerToken: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the gateway sent
  readonly payload: any;
}
export interface ApnsAnswer {
  readonly status: number;
  readonly reason?: string;
  readonly timestamp?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Faults instead of an answer. After GOAWAY, requests with a stream id above the one that GOAWAY names are refused. */
type ApnsFault = 'hang' | 'reset' | 'goaway' | 'refused';

/**
 * Starts the simulator on loopback. It uses TLS if `identity` is given. A test can change its behaviour at any time.
 */
export async function startApns(identity?: { key: string; cert: string }) {
  const requests: ApnsRequest[] = [];
  const sessions = new Set<ServerHttp2Session>();
  let begun = 0;
  const behaviour = {
    /** Returns the answer to a notification. Undefined: accept it. */
    answer: (_request: ApnsRequest, _count: number): ApnsAnswer | ApnsFault | undefined => undefined,
  };
  const server = identity ? createSecureServer(identity) : createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      begun += 1;
      const providerToken = String(headers.authorization).replace('bearer ', '');
      const request = {
        headers,
        deviceToken: String(headers[':path']).replace('/3/device/', ''),
        providerToken,
        payload: JSON.parse(Buffer.concat(chunks).toString('utf8')),
      };
      requests.push(request);
      const fault = faultOf(providerToken, headers);
      const answer = fault ? { status: 403, reason: fault } : behaviour.answer(request, requests.length);
      if (answer === 'hang') return;
      if (answer === 'reset') return stream.session?.destroy();
      if (answer === 'goaway') return stream.session?.goaway(0, 0);
      if (answer === 'refused') return stream.session?.goaway(0, Number(stream.id) - 2);
      const id = String(headers['apns-id']);
      if (answer === undefined) {
        stream.respond({ ':status': 200, 'apns-id': id }, { endStream: true });
        return;
      }
      const { status, reason, timestamp } = answer;
      stream.respond({ ':status': status, 'apns-id': id, ...answer.headers });
      stream.end(JSON.stringify({ reason, ...(timestamp === undefined ? {} : { timestamp }) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${identity ? 'https' : 'http'}://127.0.0.1:${port}`,
    behaviour,
    requests,
    begun: () => begun,
    connections: () => sessions.size,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

function faultOf(token: string, headers: IncomingHttpHeaders): string | undefined {
  const [header = '', claims = '', signature = ''] = token.split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' as const };
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    key,
    Buffer.from(signature, 'base64url'),
  );
  const { alg, kid } = read(header);
  const { iss, iat } = read(claims);
  if (!isSigned || alg !== 'ES256' || kid !== APNS_ACCOUNT.keyId || iss !== APNS_ACCOUNT.teamId) {
    return 'InvalidProviderToken';
  }
  if (Math.abs(Date.now() / 1000 - iat) > 3600) return 'ExpiredProviderToken';
  return headers['apns-topic'] === APNS_ACCOUNT.topic ? undefined : 'TopicDisallowed';
}
