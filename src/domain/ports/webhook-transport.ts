/** Makes webhook attempts: one signed POST to a customer's URL, and its result. */

/**
 * Thrown if a URL is not allowed as a target. `reason` is a text for the customer. It does not reveal whether a name is
 * unknown or leads to an internal IP address (R210).
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
  /** The secret before the last rotation, if it still signs (R446). */
  readonly previousSecret?: string;
  /** Id of the delivery. It is the same in all attempts. */
  readonly deliveryId: string;
  readonly event: string;
  /** The envelope as it is sent. Strings are sent as UTF-8. */
  readonly body: string | Uint8Array;
  /** The time of this attempt. Its whole seconds are signed as `t`. */
  readonly at: Date;
  /** The header `traceparent` (W3C Trace Context). Undefined: the header is not sent. */
  readonly traceparent?: string;
}

export interface AttemptResult {
  /** True for a 2xx response that was read to its end or to the size limit. */
  readonly ok: boolean;
  readonly httpStatus: number | null;
  /** The first 10 kB of the response as text. Null if there was no response. */
  readonly responseBody: string | null;
  /** A text for the customer that names no internal IP address. Null if `ok` is true. */
  readonly errorMessage: string | null;
  readonly durationMs: number;
}

/** Names of the headers that attempts carry (R151–R154). */
export interface WebhookHeaderNames {
  readonly signature: string;
  /** Only while the secret before the last rotation signs too (R446). */
  readonly previousSignature: string;
  readonly event: string;
  readonly delivery: string;
}

/** A header that the gateway sets on the attempts of a delivery (R471). */
export interface DeliveryHeader {
  readonly name: string;
  /** The value that every attempt has. Null if each attempt has one of its own. */
  readonly value: string | null;
  /** False for a header that only some attempts have. */
  readonly isAlwaysSent: boolean;
  /** Says why `value` is null, and when the header is sent. Null for a header with a value. */
  readonly note: string | null;
}

export interface WebhookTransport {
  readonly headerNames: WebhookHeaderNames;
  /** Returns the headers of a delivery's attempts. `attempt` sends the same ones. */
  headersOf(delivery: Pick<AttemptRequest, 'deliveryId' | 'event'>): readonly DeliveryHeader[];
  /** URL of the gateway's own webhook receiver, which is for trials. Null if there is none. */
  readonly simulatorUrl: string | null;
  /** Checks a webhook URL. Resolves with its canonical form, or rejects with `TargetRefused` (R32, R160–R162). */
  checkTarget(url: string): Promise<string>;
  /** Checks a URL that is not a webhook endpoint, by the same rules. It may lead to the gateway's own receiver. */
  checkAddress(url: string): Promise<void>;
  /** Makes one attempt of at most 10 s, including DNS resolution. Never rejects: a failure is in the result. */
  attempt(request: AttemptRequest): Promise<AttemptResult>;
  /** Aborts the attempts in progress and closes every connection. */
  close(): Promise<void>;
}
