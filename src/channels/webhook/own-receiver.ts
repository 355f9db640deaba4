/**
 * The webhook receiver that the gateway itself serves outside production, so that a newcomer needs none of their
 * own. Its addresses, and nothing else, may be webhook targets although they are on the inside.
 */
export const RECEIVER_PATH = '/simulator/webhook/';
/** What stands at the end of its address, as the user likes. */
const RECEIVER_NAME = /^[A-Za-z0-9_-]{1,64}$/;
const SHOWN_NAME = 'first-webhook';
/** A server that listens everywhere is reached here. */
const UNSPECIFIED: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** Whether the rest of the receiver's path can be its name. */
export function isReceiverName(text: string): boolean {
  return RECEIVER_NAME.test(text);
}

export class OwnReceiver {
  #prefix: string | undefined;

  /** Says at which base address this gateway is reached. Until then there is no receiver. */
  servedAt(baseUrl: string): void {
    const url = new URL(baseUrl);
    const host = UNSPECIFIED[url.hostname];
    if (host !== undefined) url.hostname = host;
    this.#prefix = `${url.origin}${url.pathname.replace(/\/$/, '')}${RECEIVER_PATH}`;
  }

  /** An address to register; null while nothing is known of one. */
  get url(): string | null {
    return this.#prefix === undefined ? null : `${this.#prefix}${SHOWN_NAME}`;
  }

  /**
   * True for the receiver's own address, letter by letter: before anything is decoded or made canonical, so that no
   * other spelling, path, port or host gets through.
   */
  admits(url: string): boolean {
    const prefix = this.#prefix;
    return prefix !== undefined && url.startsWith(prefix) && isReceiverName(url.slice(prefix.length));
  }
}
