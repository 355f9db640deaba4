import { type Access, type ApiKeyCaller, admittingScope, type Scope } from '../caller.ts';
import { accountMoved, DomainError, unauthorized } from '../errors.ts';
import { holdsIpAddress, type IpNetwork, parseIpNetwork } from '../ip-network.ts';
import type { ApiKeyStore, SpentSignatures } from '../ports/api-key-stores.ts';
import type { Cache, CreateCache } from '../ports/changes.ts';
import type { Clock, SecretBox } from '../ports/system.ts';
import type { SecurityEventKind } from '../security/security-watch.ts';
import type { ApiKeyCredentials, ApiKeyUse } from './api-key.ts';
import { parseKey, secretMatches } from './key-format.ts';
import { KEY_REQUESTS_DAYS, KeyRequestCounter } from './key-requests.ts';
import {
  type SignatureVerdict,
  signatureHeadersFault,
  signatureRetainedUntil,
  verifyRequestSignature,
} from './request-signature.ts';

/** The parts of a request that its signature covers, and the signature. */
export interface SignableRequest {
  readonly method: string;
  /** The path as sent, with `/api/v1`. A query is removed before signing. */
  readonly path: string;
  /** The values of the headers `x-timestamp` and `x-signature`. */
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
  readonly readBody: () => Promise<Buffer>;
}

/** A valid key with its parsed IP allowlist. */
export interface AuthenticatedKey extends ApiKeyCredentials {
  readonly networks: readonly IpNetwork[];
}

const DAY_MS = 24 * 3_600_000;
const REFUSED_SIGNATURE: Readonly<Record<Exclude<SignatureVerdict, 'ok'>, string>> = {
  bad_timestamp: 'The x-timestamp header must be Unix time in seconds, ten digits.',
  stale: "The x-timestamp header is more than 120 seconds from the server's time.",
  bad_signature: 'The x-signature header does not match the request.',
};

/** The error for a refused key, with details for the security log. */
export class KeyRefused extends DomainError {
  readonly check: Extract<SecurityEventKind, 'api_key' | 'signature' | 'allowlist'>;
  readonly reason: string;
  /** The key with the id that the request named, if it exists. */
  readonly credentials: ApiKeyCredentials | undefined;

  constructor(check: KeyRefused['check'], reason: string, message: string, credentials?: ApiKeyCredentials) {
    super(check === 'allowlist' ? 'forbidden' : 'unauthorized', message);
    this.check = check;
    this.reason = reason;
    this.credentials = credentials;
  }

  /** True if the request showed the secret of a key that was revoked or has expired. */
  get hasEnded(): boolean {
    return this.reason === 'revoked' || this.reason === 'expired';
  }
}

const invalidKey = (reason: string, credentials?: ApiKeyCredentials) =>
  new KeyRefused('api_key', reason, 'The API key is not valid.', credentials);

/** Authenticates API keys and their requests (R114–R119). Also records what each key was used for. */
export class Authenticator {
  readonly #store: ApiKeyStore;
  readonly #clock: Clock;
  readonly #secrets: SecretBox;
  readonly #spentSignatures: SpentSignatures;
  readonly #keys: Cache<AuthenticatedKey>;
  readonly #requests = new KeyRequestCounter();
  /** Resolves when the last call of `flushUses` has ended, also if it failed. */
  #lastFlush: Promise<void> = Promise.resolve();
  /**
   * Times of the last uses that are not stored yet, by key id and scope. The scope null stands for any use of the key.
   */
  #uses = new Map<string, Map<ApiKeyUse['scope'], Date>>();

  constructor(parts: {
    store: ApiKeyStore;
    createCache: CreateCache;
    clock: Clock;
    secrets: SecretBox;
    spentSignatures: SpentSignatures;
  }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#secrets = parts.secrets;
    this.#spentSignatures = parts.spentSignatures;
    this.#keys = parts.createCache('api-key', async (keyId) => {
      const credentials = await this.#store.findCredentials(keyId);
      // Throw, so that the cache stores nothing. Otherwise guessed key ids would push the keys in use out of the cache.
      if (!credentials) throw invalidKey('unknown');
      const networks = credentials.key.ipAllowlist.flatMap((cidr) => parseIpNetwork(cidr) ?? []);
      return { ...credentials, networks };
    });
  }

  /** Returns the key that `raw` contains. Throws `unauthorized` if the key is unknown, revoked or expired, and `account_moved` if another cell has its account. */
  async authenticate(raw: string | undefined): Promise<AuthenticatedKey> {
    if (raw === undefined || raw === '') {
      throw unauthorized('Send your API key in the X-Api-Key header.');
    }
    const parts = parseKey(raw);
    if (!parts) throw invalidKey('malformed');
    const authenticated = await this.#keys.get(parts.keyId);
    if (!secretMatches(authenticated.secretHash, parts.secret))
      throw invalidKey('wrong secret', authenticated);
    const { key } = authenticated;
    if (key.revokedAt)
      throw new KeyRefused('api_key', 'revoked', 'The API key has been revoked.', authenticated);
    if (key.expiresAt && key.expiresAt <= this.#clock.now())
      throw new KeyRefused('api_key', 'expired', 'The API key has expired.', authenticated);
    if (authenticated.hasMoved) throw accountMoved();
    return authenticated;
  }

  /**
   * Checks the signature of a request and returns its body (R10, R131–R134). Returns undefined if the key does not sign
   * requests. A valid signature can be used once, even if the request fails later. The body is read only if the headers
   * can belong to a genuine request. Throws `unauthorized`, and the errors of reading the body.
   */
  async checkSignature(
    authenticated: AuthenticatedKey,
    request: SignableRequest,
  ): Promise<Buffer | undefined> {
    const { key, signingSecretSealed } = authenticated;
    if (signingSecretSealed === null) return undefined;
    const refused = (reason: string, message: string) =>
      new KeyRefused('signature', reason, message, authenticated);
    const { timestamp, signature } = request;
    const missing = [...(signature ? [] : ['x-signature']), ...(timestamp ? [] : ['x-timestamp'])];
    if (!signature || !timestamp) {
      throw refused('missing', `This API key signs its requests. Missing: ${missing.join(', ')}.`);
    }
    const fault = signatureHeadersFault(timestamp, signature, this.#clock.now());
    if (fault) throw refused(fault, REFUSED_SIGNATURE[fault]);
    const rawBody = await request.readBody();
    const verdict = verifyRequestSignature({
      secret: this.#secrets.open(signingSecretSealed),
      method: request.method,
      path: request.path,
      timestamp,
      signature,
      rawBody,
      now: this.#clock.now(),
    });
    if (verdict !== 'ok') throw refused(verdict, REFUSED_SIGNATURE[verdict]);
    if (!(await this.#spentSignatures.spend(key.keyId, signature, signatureRetainedUntil(timestamp)))) {
      throw refused(
        'used before',
        'The x-signature header was used before. Sign every request with a fresh timestamp.',
      );
    }
    return rawBody;
  }

  /** Throws `forbidden` if the key may not be used from this IP address (R118). */
  checkAddress(authenticated: AuthenticatedKey, addressOf: () => bigint | undefined): void {
    const { key, networks } = authenticated;
    if (key.ipAllowlist.length === 0) return;
    const address = addressOf();
    if (address === undefined || !networks.some((network) => holdsIpAddress(network, address))) {
      const message = "The request comes from outside the API key's IP allowlist.";
      throw new KeyRefused('allowlist', 'outside', message, authenticated);
    }
  }

  /** Records that this key was used now. */
  noteUse({ key }: AuthenticatedKey): void {
    this.#note(key.keyId, null);
  }

  /** Records the operation of a request, the IP address it came from, and the scope that allowed it (R276). */
  noteRequest(
    { keyId, scopes }: ApiKeyCaller,
    { name, access }: { readonly name: string; readonly access: Access },
    address: string,
  ): void {
    this.#requests.note(keyId, name, address);
    const scope = admittingScope(access, scopes);
    if (scope !== undefined) this.#note(keyId, scope);
  }

  #note(keyId: string, scope: Scope | null): void {
    let ofKey = this.#uses.get(keyId);
    if (!ofKey) {
      ofKey = new Map();
      this.#uses.set(keyId, ofKey);
    }
    ofKey.set(scope, this.#clock.now());
  }

  /**
   * Stores the uses and requests recorded since the last call. A call during another one waits for it: when it resolves,
   * everything that was recorded before is stored.
   */
  flushUses(): Promise<void> {
    const flushed = this.#lastFlush.then(() => this.#flush());
    this.#lastFlush = flushed.catch(() => undefined);
    return flushed;
  }

  async #flush(): Promise<void> {
    const uses = this.#uses;
    this.#uses = new Map();
    await this.#store.touch(
      [...uses].flatMap(([keyId, ofKey]) =>
        [...ofKey].map(([scope, at]): ApiKeyUse => ({ keyId, scope, at })),
      ),
    );
    await this.#store.addRequests(this.#clock.now(), this.#requests.take());
  }

  /** Deletes the counts of requests that are older than 30 days. Returns the number of deleted rows. */
  forgetOldRequests(): Promise<number> {
    return this.#store.forgetRequests(new Date(this.#clock.now().getTime() - KEY_REQUESTS_DAYS * DAY_MS));
  }

  /**
   * Deletes used signatures whose timestamp is too old to be accepted again. Returns the number of deleted signatures.
   */
  forgetSpentSignatures(): Promise<number> {
    return this.#spentSignatures.sweep(this.#clock.now());
  }
}

/** Returns the caller for a request that was authenticated with this key. */
export function callerOf({ key }: ApiKeyCredentials): ApiKeyCaller {
  return {
    kind: 'api-key',
    accountId: key.accountId,
    keyId: key.keyId,
    scopes: key.scopes,
    environment: key.environment,
  };
}
