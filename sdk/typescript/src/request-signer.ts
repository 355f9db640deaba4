import { bytesOf, type HmacKey, hexOf, hmacKey, webCrypto } from './web-crypto.ts';

/** A timestamp may be 120 seconds off; this leaves some to clocks that differ. */
const REACH_SECONDS = 90;
const SPENT_MAX = 10_000;
/** Enough to find one of a few that are left. */
const TRIES_MAX = 1_000;

/** Signs requests as keys with `enableHmac` must (R10, R131 to R134). */
export class RequestSigner {
  readonly #secret: string;
  readonly #now: () => number;
  /** What was signed, with its timestamp: a signature passes once. */
  readonly #spent = new Set<string>();
  #key: Promise<HmacKey> | undefined;

  /** `now` gives milliseconds, as `Date.now` does. */
  constructor(secret: string, now: () => number = Date.now) {
    this.#secret = secret;
    this.#now = now;
  }

  /** The two headers. `path` begins with `/api/v1` and has no query; `body` is sent in exactly these bytes. */
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
   * The present second, or a random one near it where these bytes were signed with that before: two equal requests with
   * one timestamp would have one signature.
   */
  #freshTimestamp(target: string, hash: string): string {
    const now = Math.floor(this.#now() / 1000);
    for (let seconds = now, tries = 0; tries < TRIES_MAX; tries += 1) {
      const use = `${seconds} ${target} ${hash}`;
      if (!this.#spent.has(use)) {
        this.#remember(use, now);
        return String(seconds);
      }
      // Random, because other processes may sign the same with the same key.
      seconds = now - REACH_SECONDS + Math.floor(Math.random() * (2 * REACH_SECONDS + 1));
    }
    // Nearly all that can pass are spent: the gateway refuses it, and says why.
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
