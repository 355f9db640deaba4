import type { ApiKeyCaller } from '../caller.ts';
import { ChangeCache } from '../cache.ts';
import { unauthorized } from '../errors.ts';
import type { Changes } from '../ports/changes.ts';
import type { ApiKeyStore } from '../ports/stores.ts';
import type { Clock } from '../ports/system.ts';
import type { ApiKeyCredentials } from './api-key.ts';
import { parseKey, secretMatches } from './key-format.ts';

/** Checks API keys (contract, Authentication) and remembers when each was last used. */
export class Authenticator {
  readonly #store: ApiKeyStore;
  readonly #clock: Clock;
  readonly #credentials: ChangeCache<ApiKeyCredentials | undefined>;
  #uses = new Map<string, Date>();

  constructor(store: ApiKeyStore, changes: Changes, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#credentials = new ChangeCache('api-key', changes, (keyId) => store.findCredentials(keyId));
  }

  /** The key's record when `raw` is a valid key, neither revoked nor expired; throws `unauthorized` otherwise. */
  async authenticate(raw: string | undefined): Promise<ApiKeyCredentials> {
    if (raw === undefined || raw === '') {
      throw unauthorized('Send your API key in the X-Api-Key header.');
    }
    const parts = parseKey(raw);
    const credentials = parts && (await this.#credentials.get(parts.keyId));
    if (!parts || !credentials || !secretMatches(credentials.secretHash, parts.secret)) {
      throw unauthorized('The API key is not valid.');
    }
    const { key } = credentials;
    const now = this.#clock.now();
    if (key.revokedAt) throw unauthorized('The API key has been revoked.');
    if (key.expiresAt && key.expiresAt <= now) throw unauthorized('The API key has expired.');
    this.#uses.set(key.keyId, now);
    return credentials;
  }

  /** Stores when keys were last used since the last call. */
  async flushUses(): Promise<void> {
    const uses = this.#uses;
    this.#uses = new Map();
    await this.#store.touch(uses);
  }
}

/** The caller that a key stands for. */
export function callerOf({ key }: ApiKeyCredentials): ApiKeyCaller {
  return {
    kind: 'api-key',
    accountId: key.accountId,
    keyId: key.keyId,
    scopes: key.scopes,
    environment: key.environment,
  };
}
