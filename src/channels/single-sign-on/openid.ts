import { DomainError, unauthorized } from '../../domain/errors.ts';
import type { OpenId, OpenIdClient, OpenIdPerson } from '../../domain/ports/single-sign-on.ts';
import type { GuardedClient } from '../guarded-http/guarded-client.ts';

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 512 * 1024;
/**
 * With `isFresh`, the sign-in at the provider may be at most this many seconds ago. The constant after it is the
 * largest difference between the clocks of provider and gateway, in seconds.
 */
const FRESH_SECONDS = 60;
const CLOCK_TOLERANCE_SECONDS = 30;
const REASON_MAX_LENGTH = 200;

interface OpenIdSettings {
  /** The HTTP client for providers that accounts choose. It connects to public addresses only. */
  readonly accounts: GuardedClient;
  /** The HTTP client for the provider that the operator configured. It connects to any address. */
  readonly operators: GuardedClient;
  readonly requireHttps: boolean;
  readonly logger: { warn(facts: object, text: string): void };
}

/** Loads the library on its first use, because most processes never need it. */
const library = () => import('openid-client');
type Library = Awaited<ReturnType<typeof library>>;
interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  claims(): Readonly<Record<string, unknown>> | undefined;
}

/**
 * Implements OpenID Connect with openid-client. It reads the provider's configuration again for each sign-in, so that
 * rotated keys and moved endpoints are found at once. It checks the signatures of ID tokens, even though they arrive
 * over TLS.
 */
export function createOpenId(settings: OpenIdSettings): OpenId {
  const { accounts, operators, requireHttps, logger } = settings;

  async function discover(lib: Library, { accountId, issuer, clientId, clientSecret }: OpenIdClient) {
    const http = accountId === null ? operators : accounts;
    const ask = fetchBy(http, accountId ?? 'operators');
    return lib.discovery(
      new URL(issuer),
      clientId,
      { client_secret: clientSecret, [lib.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      undefined,
      {
        [lib.customFetch]: ask,
        timeout: TIMEOUT_MS / 1000,
        execute: [lib.enableNonRepudiationChecks, ...(requireHttps ? [] : [lib.allowInsecureRequests])],
      },
    );
  }

  /** Adds the claims of the user info endpoint, because some providers put groups and roles only there. */
  async function personOf(
    lib: Library,
    config: Awaited<ReturnType<typeof discover>>,
    tokens: Tokens,
    subject: string,
  ): Promise<OpenIdPerson> {
    const fromToken = tokens.claims() ?? {};
    const hasMore = config.serverMetadata().userinfo_endpoint !== undefined;
    const more = hasMore ? await lib.fetchUserInfo(config, tokens.access_token, subject) : {};
    return { subject, claims: { ...more, ...fromToken }, refreshToken: tokens.refresh_token };
  }

  /** Converts a failure to an error for the person. The log gets the whole text. */
  function failure(lib: Library, { issuer }: OpenIdClient, error: unknown): DomainError {
    const [kind, reason] = causeOf(lib, error);
    logger.warn({ issuer, reason, err: error }, 'a single sign-on failed');
    if (kind === 'unreachable') return unreachable(reason);
    return unauthorized(`The sign-in was refused: ${reason}. Begin again.`);
  }

  return {
    async begin(client, { state, nonce, codeVerifier }, redirectUri, isFresh) {
      const lib = await library();
      try {
        const config = await discover(lib, client);
        const offered = config.serverMetadata().scopes_supported ?? [];
        const url = lib.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          response_type: 'code',
          scope: [
            'openid',
            'email',
            'profile',
            ...(offered.includes('offline_access') ? ['offline_access'] : []),
          ].join(' '),
          state,
          nonce,
          code_challenge: await lib.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
          ...(isFresh && { max_age: '0' }),
        });
        if (url.protocol !== 'https:' && (requireHttps || url.protocol !== 'http:'))
          throw new TypeError('its authorization endpoint is no https URL');
        return url.href;
      } catch (error) {
        throw failure(lib, client, error);
      }
    },

    async finish(client, { state, nonce, codeVerifier }, callback, isFresh) {
      const lib = await library();
      try {
        const config = await discover(lib, client);
        const tokens = await lib.authorizationCodeGrant(config, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
          ...(isFresh && { maxAge: FRESH_SECONDS }),
        });
        const subject = tokens.claims()?.sub;
        if (subject === undefined) throw new TypeError('the provider sent no ID token');
        return await personOf(lib, config, tokens, subject);
      } catch (error) {
        throw failure(lib, client, error);
      }
    },

    async check(client, subject, refreshToken) {
      const lib = await library();
      try {
        const config = await discover(lib, client);
        const tokens = await lib.refreshTokenGrant(config, refreshToken);
        const said = tokens.claims()?.sub;
        if (said !== undefined && said !== subject)
          return { outcome: 'refused', reason: 'the refreshed token is of another person' };
        const person = await personOf(lib, config, tokens, subject);
        return {
          outcome: 'present',
          person: { ...person, refreshToken: person.refreshToken ?? refreshToken },
        };
      } catch (error) {
        const [kind, reason] = causeOf(lib, error);
        logger.warn({ issuer: client.issuer, reason }, 'a person of single sign-on could not be checked');
        return { outcome: kind === 'gone' ? 'refused' : 'unknown', reason };
      }
    },
  };
}

function unreachable(reason: string): DomainError {
  return new DomainError('provider_error', `The sign-in provider cannot be used: ${reason}.`);
}

/**
 * Returns the kind of a failure, and its text for the log. `gone`: the provider says that the person or the token is
 * not valid any more. `unreachable`: there was no answer, or the server failed. `refused`: the answer must not be
 * trusted.
 */
function causeOf(lib: Library, error: unknown): readonly ['gone' | 'refused' | 'unreachable', string] {
  if (error instanceof lib.ResponseBodyError) {
    const text = error.error_description ?? error.error;
    const isGone = error.error === 'invalid_grant';
    return [isGone ? 'gone' : 'refused', shown(text)];
  }
  if (error instanceof lib.AuthorizationResponseError)
    return ['refused', shown(error.error_description ?? error.error)];
  // The user info endpoint refuses the token if the provider has removed the person.
  if (error instanceof lib.WWWAuthenticateChallengeError)
    return ['gone', 'the provider refuses the access token'];
  const causes = [error, (error as { cause?: unknown } | null)?.cause];
  const unreached = causes.find((cause) => cause instanceof Unreached);
  if (unreached instanceof Unreached) return ['unreachable', shown(unreached.message)];
  const { code } = (error ?? {}) as { code?: unknown };
  const isOdd = code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || code === 'OAUTH_RESPONSE_IS_NOT_JSON';
  return [isOdd ? 'unreachable' : 'refused', shown(error instanceof Error ? error.message : String(error))];
}

function shown(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .slice(0, REASON_MAX_LENGTH)
    .replace(/\.$/, '');
}

class Unreached extends Error {
  override readonly name = 'Unreached';
}

/** Returns a `fetch` that uses the guarded client: it judges every IP address and follows no redirect. */
function fetchBy(http: GuardedClient, accountId: string) {
  return async (
    url: string,
    { method, headers, body }: { method: string; headers: Record<string, string>; body?: unknown },
  ): Promise<Response> => {
    const exchange = await http.request({
      accountId,
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body instanceof URLSearchParams || typeof body === 'string' ? String(body) : null,
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    if (exchange.kind === 'error') throw new Unreached(exchange.message);
    if (exchange.incomplete) throw new Unreached(exchange.incomplete.message);
    if (exchange.status >= 500) throw new Unreached(`it answers ${exchange.status}`);
    const given = Object.entries(exchange.headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : String(value)]],
    );
    const hasBody = exchange.status !== 204 && exchange.status !== 304;
    return new Response(hasBody ? exchange.body : null, { status: exchange.status, headers: given });
  };
}
