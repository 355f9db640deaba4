import { createHmac, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

type Claims = Readonly<Record<string, unknown>>;

/** An issuer that answers with whatever ID token a test forges. It shows which tokens the gateway refuses. */
export interface FalseIssuer extends AsyncDisposable {
  readonly issuer: string;
  /** The ID token of the next answer of the token endpoint. */
  idToken: string;
  /** Algorithms that it says it signs with. */
  algorithms: readonly string[];
  /** A token signed with the key that the issuer publishes. */
  signed(claims: Claims): string;
  unsigned(claims: Claims): string;
  /** A token whose HMAC key is the text of the public key, which everybody knows. */
  signedWithPublicKey(claims: Claims): string;
  /** A token signed with a key that the issuer does not publish. */
  signedByAnother(claims: Claims): string;
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (header: object, claims: Claims) => `${encoded(header)}.${encoded(claims)}`;

export async function startFalseIssuer(): Promise<FalseIssuer> {
  const own = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const rs256 = (claims: Claims, key: typeof own.privateKey) => {
    const text = parts({ alg: 'RS256', kid: 'one' }, claims);
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
  };
  const server = createServer((request, response) => {
    const { issuer } = falseIssuer;
    const answers: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: falseIssuer.algorithms,
      },
      '/jwks': {
        keys: [{ ...createPublicKey(own.privateKey).export({ format: 'jwk' }), kid: 'one', use: 'sig' }],
      },
      '/token': {
        access_token: 'an-access-token',
        token_type: 'Bearer',
        id_token: falseIssuer.idToken,
      },
    };
    const body = answers[request.url ?? ''];
    response.writeHead(body ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const falseIssuer: FalseIssuer = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    idToken: '',
    algorithms: ['RS256'],
    signed: (claims) => rs256(claims, own.privateKey),
    signedByAnother: (claims) => rs256(claims, other.privateKey),
    unsigned: (claims) => `${parts({ alg: 'none' }, claims)}.`,
    signedWithPublicKey(claims) {
      const text = parts({ alg: 'HS256', kid: 'one' }, claims);
      const key = own.publicKey.export({ format: 'pem', type: 'spki' });
      return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return falseIssuer;
}
