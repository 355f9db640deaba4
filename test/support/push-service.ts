/**
 * Simulates a browser and its push service. It accepts Web Push requests and decrypts them as a browser does (RFC 8188,
 * 8291, 8292).
 */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** The secrets that a browser keeps for a subscription. */
export interface BrowserSecrets {
  readonly privateKey: Buffer;
  readonly publicKey: Buffer;
  readonly auth: Buffer;
}

/** Creates a browser's subscription. */
export function newBrowser(): BrowserSecrets & { readonly keys: { p256dh: string; auth: string } } {
  const pair = createECDH('prime256v1');
  const publicKey = pair.generateKeys();
  const auth = randomBytes(16);
  return {
    privateKey: pair.getPrivateKey(),
    publicKey,
    auth,
    keys: { p256dh: publicKey.toString('base64url'), auth: auth.toString('base64url') },
  };
}

/** Decrypts an aes128gcm body that has one record. Throws if the body violates the RFCs. */
export function decryptPush(body: Buffer, { privateKey, publicKey, auth }: BrowserSecrets): string {
  const salt = body.subarray(0, 16);
  const recordSize = body.readUInt32BE(16);
  const senderKey = body.subarray(21, 21 + body.readUInt8(20));
  const record = body.subarray(21 + senderKey.length);
  if (record.length > recordSize) throw new Error('more than one record');
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(privateKey);
  const shared = pair.computeSecret(senderKey);
  const keyInfo = Buffer.concat([Buffer.from('WebPush: info\0'), publicKey, senderKey]);
  const secret = Buffer.from(hkdfSync('sha256', shared, auth, keyInfo, 32));
  const derive = (info: string, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, Buffer.from(`Content-Encoding: ${info}\0`), length));
  const decipher = createDecipheriv('aes-128-gcm', derive('aes128gcm', 16), derive('nonce', 12));
  decipher.setAuthTag(record.subarray(-16));
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2);
  if (end < 0 || padded.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('no last record');
  return padded.subarray(0, end).toString('utf8');
}

/** Returns the claims of a request's `Authorization: vapid`. Checks the signature with the key in that header. */
export function vapidClaims(headers: IncomingHttpHeaders): {
  claims: { aud: string; exp: number; sub: string };
  publicKey: string;
} {
  const [, token = '', publicKey = ''] =
    /^vapid t=([^,\s]+), ?k=(\S+)$/.exec(headers.authorization ?? '') ?? [];
  const [header = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(publicKey, 'base64url');
  const key = createPublicKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    },
  });
  const signed = Buffer.from(`${header}.${claims}`);
  const isSigned = verify(
    'sha256',
    signed,
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isSigned) throw new Error('the VAPID signature is not right');
  return { claims: JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')), publicKey };
}

export interface PushServiceRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
export interface PushServiceAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Starts the push service on loopback. A test can change its behaviour at any time. */
export async function startPushService() {
  const requests: PushServiceRequest[] = [];
  const sockets = new Set<Socket>();
  const behaviour = {
    /** Returns the answer to a message. Undefined: accept it. */
    answer: (
      _request: PushServiceRequest,
      _count: number,
    ): PushServiceAnswer | 'hang' | 'reset' | undefined => undefined,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const taken = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
      requests.push(taken);
      const answer = behaviour.answer(taken, requests.length);
      if (answer === 'hang') return;
      if (answer === 'reset') return void request.socket.destroy();
      const { status, headers } = answer ?? {
        status: 201,
        headers: { location: `${url}/m/${requests.length}` },
      };
      response.writeHead(status, headers).end();
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
    /** Returns the endpoint URL of a browser. */
    endpoint: (name: string) => `${url}/push/${name}`,
    behaviour,
    requests,
    connections: () => sockets.size,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
