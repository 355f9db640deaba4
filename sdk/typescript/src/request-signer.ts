import { bytesOf, type HmacKey, hexOf, hmacKey, webCrypto } from './web-crypto.ts';

/** How far a timestamp may be from now, in seconds. The gateway accepts 120 s. The rest is for clocks that differ. */
const REACH_SECONDS = 90;
const SPENT_MAX = 10_000;
/** Number of random timestamps to try. It is enough to find one of a few that are unused. */
const TRIES_MAX = 1_000;

/** Signs requests for API keys with `enableHmac` (R10, R131 to R134). */
export class RequestSigner {
  readonly #secret: string;
  readonly #now: () => number;
  /** What was signed with which timestamp. The gateway accepts a signature only once. */
  readonly #spent = new Set<string>();
  #key: Promise<HmacKey> | undefined;

  /** `now` returns the time in ms since 1970, like `Date.now`. */
  constructor(secret: string, now: () => number = Date.now) {
    this.#secret = secret;
    this.#now = now;
  }

  /**
   * Returns the two signature headers. `path` begins with `/api/v1` and has no query. `body` must be sent with exactly
   * these bytes.
   */
  async headersFor(method: string, path: string, body: string | Uint8Array): Promise<Record<string, string>> {
    const { subtle } = await webCrypto();
    this.#key ??= hmacKey(this.#secret);
    const hash = hexOf(await subtle.digest('SHA-256', bytesOf(body)));
    const timestamp = this.#freshTimestamp(`${method}${path}`, hash);
    const signed = bytesOf(`${method}${path}${timestamp}${hash}`);
    const signature = hexOf(await subtle.sign('HMAC', await this.#key, signed));
    return { 'x-timestamp': timestamp, 'x-signature': signature };
  }

  /**
   * Returns the current second. If an equal request was signed with it, returns a random second near it instead. Two
   * equal requests with the same timestamp would have the same signature, and the gateway refuses the second one.
   */
  #freshTimestamp(target: string, hash: string): string {
    const now = Math.floor(this.#now() / 1000);
    for (let seconds = now, tries = 0; tries < TRIES_MAX; tries += 1) {
      const use = `${seconds} ${target} ${hash}`;
      if (!this.#spent.has(use)) {
        this.#remember(use, now);
        return String(seconds);
      }
      // Random, because other processes may sign the same request with the same API key.
      seconds = now - REACH_SECONDS + Math.floor(Math.random() * (2 * REACH_SECONDS + 1));
    }
    // Nearly all possible timestamps are used. The gateway refuses the request with a clear error.
    return String(now);
  }

  #remember(use: string, now: number): void {
    this.#spent.add(use);
    if (this.#spent.size <= SPENT_MAX) return;
    for (const old of this.#spent) {
      if (Number(old.slice(0, old.indexOf(' '))) < now - REACH_SECONDS) this.#spent.delete(old);
    }
  }
}
