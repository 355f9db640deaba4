import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/** What the provider says about a person. */
export interface IdentityPerson {
  readonly sub: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
}

export interface IdentityProvider extends AsyncDisposable {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Adds or changes a person. */
  put(person: IdentityPerson): void;
  /** Removes a person: the provider takes their refresh tokens no more. */
  remove(sub: string): void;
  /** The person in front of the browser, whom the provider signs in without asking. */
  signsIn: string;
  /** Follows the redirects of the sign-in page as a browser does. Returns the query of the URL that it leads back to. */
  visit(url: string): Promise<string>;
  /** Signs with another key from now on. */
  rotateKeys(): Promise<void>;
  stop(): Promise<void>;
}

const CLIENT = { id: 'gateway', secret: 'a-secret-of-the-gateway-at-the-provider' };

/**
 * The certified oidc-provider as a server on loopback. It signs `signsIn` in at once. It leads back to every address
 * below `callback`, because the ids of the accounts in these addresses are not known yet.
 */
export async function startIdentityProvider(callback: string): Promise<IdentityProvider> {
  const people = new Map<string, IdentityPerson>();
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const begin = async () => {
    const { privateKey } = await crypto.subtle.generateKey(
      {
        name: 'RSASSA-PKCS1-v1_5',
        modulusLength: 2048,
        publicExponent: new Uint8Array([1, 0, 1]),
        hash: 'SHA-256',
      },
      true,
      ['sign', 'verify'],
    );
    const {
      key_ops: _operations,
      ext: _extractable,
      ...jwk
    } = await crypto.subtle.exportKey('jwk', privateKey);
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [`${callback}/operators`],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      jwks: { keys: [{ ...jwk, kty: 'RSA' as const, use: 'sig', alg: 'RS256' }] },
      cookies: { keys: ['only for tests'] },
      ttl: {
        AccessToken: 600,
        Grant: 3_600,
        IdToken: 600,
        Interaction: 600,
        RefreshToken: 3_600,
        Session: 3_600,
      },
      claims: {
        openid: ['sub'],
        email: ['email', 'email_verified'],
        profile: ['roles', 'groups'],
      },
      scopes: ['openid', 'offline_access', 'email', 'profile'],
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
      issueRefreshToken: async () => true,
      findAccount: async (_context, sub) => {
        const person = people.get(sub);
        return person && { accountId: sub, claims: async () => ({ ...person }) };
      },
      loadExistingGrant: async (context) => {
        const { client, session } = context.oidc;
        const grant = new context.oidc.provider.Grant({
          clientId: client?.clientId,
          accountId: session?.accountId,
        });
        grant.addOIDCScope('openid email profile offline_access');
        await grant.save();
        return grant;
      },
    });
    provider.Client.prototype.redirectUriAllowed = (uri: string) => uri.startsWith(`${callback}/`);
    const answer = provider.callback();
    handle = (request, response) => {
      if (!request.url?.startsWith('/interaction/')) {
        answer(request, response);
        return;
      }
      const login = { accountId: provided.signsIn, ts: Math.floor(Date.now() / 1000) };
      provider.interactionFinished(request, response, { login }).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    };
  };
  const provided: IdentityProvider = {
    issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    signsIn: '',
    put: (person) => void people.set(person.sub, person),
    remove: (sub) => void people.delete(sub),
    async visit(url) {
      const cookies = new Map<string, string>();
      let at = new URL(url);
      for (let steps = 0; steps < 10; steps += 1) {
        if (at.origin !== issuer) return at.search.slice(1);
        const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        const response = await fetch(at, { redirect: 'manual', headers: { Cookie: cookie } });
        for (const line of response.headers.getSetCookie()) {
          const [name = '', value = ''] = line.split(';')[0]!.split(/=(.*)/s);
          cookies.set(name, value);
        }
        const location = response.headers.get('location');
        if (location === null)
          throw new Error(`the provider stops with ${response.status}: ${await response.text()}`);
        at = new URL(location, at);
      }
      throw new Error('the provider redirects for ever');
    },
    rotateKeys: begin,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    [Symbol.asyncDispose]: () => provided.stop(),
  };
  await begin();
  return provided;
}
