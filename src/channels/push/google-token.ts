import type { KeyObject } from 'node:crypto';
import { ProviderHttp } from '../provider-http.ts';
import { privateKeyFrom, signedToken } from './json-web-token.ts';

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** Lifetime of an assertion in seconds. Google refuses a longer lifetime. */
const ASSERTION_SECONDS = 3_600;
/** A token is replaced this long before it expires, in ms, so that it does not expire during a request. */
const SPARE_MS = 60_000;

export interface ServiceAccount {
  readonly projectId: string;
  readonly clientEmail: string;
  readonly privateKey: KeyObject;
  readonly privateKeyId: string | undefined;
  readonly tokenUri: string;
}

/** Reads the JSON file of a service account. Throws an Error that names what is missing. */
export function parseServiceAccount(json: string): ServiceAccount {
  let file: Record<string, unknown>;
  try {
    file = JSON.parse(json);
  } catch {
    throw new Error('it is not JSON');
  }
  const text = (name: string): string => {
    const value = file?.[name];
    if (typeof value !== 'string' || value === '') throw new Error(`it has no ${name}`);
    return value;
  };
  const tokenUri = text('token_uri');
  if (!URL.canParse(tokenUri)) throw new Error('its token_uri is not a URL');
  return {
    projectId: text('project_id'),
    clientEmail: text('client_email'),
    privateKey: privateKeyFrom(text('private_key'), 'rsa'),
    privateKeyId: typeof file.private_key_id === 'string' ? file.private_key_id : undefined,
    tokenUri,
  };
}

/** Says why there is no token. */
export interface TokenFailure {
  readonly failure: string;
}

/**
 * Gets access tokens for a service account. Each token is used until shortly before it expires. Only one request for a
 * token runs at a time.
 */
export class GoogleToken {
  readonly #account: ServiceAccount;
  readonly #http: ProviderHttp;
  #token: { readonly value: string; readonly endsAtMs: number } | undefined;
  #asking: Promise<string | TokenFailure> | undefined;

  constructor(account: ServiceAccount, timeoutMs: number | undefined) {
    this.#account = account;
    this.#http = new ProviderHttp({
      baseUrl: account.tokenUri,
      connections: 1,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  }

  /**
   * Returns a token, or the reason why there is none. If Google did not accept a token, pass it as `refused` to get
   * another token.
   */
  async get(refused?: string): Promise<string | TokenFailure> {
    const token = this.#token;
    if (token && token.value !== refused && token.endsAtMs - SPARE_MS > Date.now()) return token.value;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #ask(): Promise<string | TokenFailure> {
    const { clientEmail, tokenUri, privateKey, privateKeyId } = this.#account;
    const nowSeconds = Math.floor(Date.now() / 1000);
    const assertion = signedToken(privateKey, privateKeyId, {
      iss: clientEmail,
      scope: SCOPE,
      aud: tokenUri,
      iat: nowSeconds,
      exp: nowSeconds + ASSERTION_SECONDS,
    });
    const write = () => ({
      path: '',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: GRANT, assertion }).toString(),
    });
    const answer = await this.#http.post(write, {});
    if (answer.kind === 'failure') return { failure: `no access token: ${answer.reason}` };
    const body = answer.body as { access_token?: unknown; expires_in?: unknown; error?: unknown } | undefined;
    if (answer.status !== 200 || typeof body?.access_token !== 'string') {
      const error = typeof body?.error === 'string' ? ` ${body.error}` : '';
      return { failure: `no access token: the token server answered ${answer.status}${error}` };
    }
    const seconds = typeof body.expires_in === 'number' ? body.expires_in : ASSERTION_SECONDS;
    this.#token = { value: body.access_token, endsAtMs: Date.now() + seconds * 1000 };
    return body.access_token;
  }
}
