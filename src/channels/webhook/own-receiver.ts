/**
 * The path of a webhook receiver that the gateway itself serves outside production. Newcomers can use it to try
 * webhooks. The receiver's own URLs may be webhook targets although their IP address is private.
 */
export const RECEIVER_PATH = '/simulator/webhook/';
/** The last segment of the receiver's URL. The user chooses it. */
const RECEIVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const SHOWN_NAME = 'first-webhook';
/** If the server listens on all addresses, these addresses reach it. */
const UNSPECIFIED: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** True if `text` can be the last segment of a receiver's URL. */
export function isReceiverName(text: string): boolean {
  return RECEIVER_NAME.test(text);
}

export class OwnReceiver {
  #prefix: string | undefined;

  /** Sets the base URL of this gateway. Before that, there is no receiver. */
  servedAt(baseUrl: string): void {
    const url = new URL(baseUrl);
    const host = UNSPECIFIED[url.hostname];
    if (host !== undefined) url.hostname = host;
    this.#prefix = `${url.origin}${url.pathname.replace(/\/$/, '')}${RECEIVER_PATH}`;
  }

  /** A URL that a user can register. Null while the base URL is unknown. */
  get url(): string | null {
    return this.#prefix === undefined ? null : `${this.#prefix}${SHOWN_NAME}`;
  }

  /**
   * True only for a URL of the receiver. The URL is compared without decoding or normalising. Any other spelling, path,
   * port or host returns false.
   */
  admits(url: string): boolean {
    const prefix = this.#prefix;
    return prefix !== undefined && url.startsWith(prefix) && isReceiverName(url.slice(prefix.length));
  }
}
