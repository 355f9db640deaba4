/** Sends webhook attempts: one signed POST to a customer's URL, and its result. */

/**
 * The URL is not allowed as a target. `reason` is for the customer and does not distinguish an unknown name from an
 * internal address (R210).
 */
export class TargetRefused extends Error {
  readonly reason: string;

  constructor(reason: string) {
    super(`webhook target refused: ${reason}`);
    this.name = 'TargetRefused';
    this.reason = reason;
  }
}

export interface AttemptRequest {
  /** The account that the endpoint belongs to. */
  readonly accountId: string;
  readonly url: string;
  /** The endpoint's secret, `whsec_` included. */
  readonly secret: string;
  /** The same in all attempts of a delivery. */
  readonly deliveryId: string;
  readonly event: string;
  /** The envelope as sent; strings are sent as UTF-8. */
  readonly body: string | Uint8Array;
  /** The time of this attempt; its whole seconds are signed as `t`. */
  readonly at: Date;
}

export interface AttemptResult {
  /** A 2xx answer, read to its end or to the limit. */
  readonly ok: boolean;
  readonly httpStatus: number | null;
  /** The first 10 kB of the answer as text; null without an answer. */
  readonly responseBody: string | null;
  /** Null when `ok`. Otherwise a text for the customer that names no internal address. */
  readonly errorMessage: string | null;
  readonly durationMs: number;
}

/** Names of the headers of every attempt (R151–R154). */
export interface WebhookHeaderNames {
  readonly signature: string;
  readonly event: string;
  readonly delivery: string;
}

export interface WebhookTransport {
  readonly headerNames: WebhookHeaderNames;
  /** URL of the gateway's own receiver for trials; null if there is none. */
  readonly simulatorUrl: string | null;
  /** Resolves with the canonical URL; rejects with `TargetRefused` (R32, R160–R162). */
  checkTarget(url: string): Promise<string>;
  /** Checks a URL that is no webhook as strictly. It may be the gateway's own receiver. */
  checkAddress(url: string): Promise<void>;
  /** Makes one attempt of at most 10 s, name resolution included. Never rejects. */
  attempt(request: AttemptRequest): Promise<AttemptResult>;
  /** Aborts attempts in progress and closes every connection. */
  close(): Promise<void>;
}
