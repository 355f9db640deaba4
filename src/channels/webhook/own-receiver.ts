/**
 * The webhook receiver that the gateway serves outside production for newcomers. Its own URLs may be webhook targets
 * although their address is private.
 */
export const RECEIVER_PATH = '/simulator/webhook/';
/** The last segment of its URL. The user chooses it. */
const RECEIVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const SHOWN_NAME = 'first-webhook';
/** Addresses to reach a server that listens on all of them. */
const UNSPECIFIED: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** Whether `text` can be the last segment of a receiver's URL. */
export function isReceiverName(text: string): boolean {
  return RECEIVER_NAME.test(text);
}

export class OwnReceiver {
  #prefix: string | undefined;

  /** Sets the base address of this gateway. Until then there is no receiver. */
  servedAt(baseUrl: string): void {
    const url = new URL(baseUrl);
    const host = UNSPECIFIED[url.hostname];
    if (host !== undefined) url.hostname = host;
    this.#prefix = `${url.origin}${url.pathname.replace(/\/$/, '')}${RECEIVER_PATH}`;
  }

  /** A URL to register; null while the base address is unknown. */
  get url(): string | null {
    return this.#prefix === undefined ? null : `${this.#prefix}${SHOWN_NAME}`;
  }

  /**
   * True for exactly the receiver's own URL, before any decoding or normalising: no other spelling, path, port or
   * host passes.
   */
  admits(url: string): boolean {
    const prefix = this.#prefix;
    return prefix !== undefined && url.startsWith(prefix) && isReceiverName(url.slice(prefix.length));
  }
}
