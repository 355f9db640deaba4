/** How a webhook attempt leaves the house: one signed POST to a customer's URL, and the record of what came back. */

/** The URL may not be a webhook target; `reason` says why in words for the customer, which do not tell an unknown name from an address inside (R160–R162). */
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
  /** The endpoint's secret as the customer has it, `whsec_` included. */
  readonly secret: string;
  /** Stable across the attempts of a delivery. */
  readonly deliveryId: string;
  readonly event: string;
  /** The envelope exactly as it is to be sent; strings go out as UTF-8. */
  readonly body: string | Uint8Array;
  /** The time of this attempt: its whole seconds are signed as `t`. */
  readonly at: Date;
}

export interface AttemptResult {
  /** A 2xx answer, read to its end or to the limit. */
  readonly ok: boolean;
  readonly httpStatus: number | null;
  /** The first 10 kB of the answer as text, null when no answer came. */
  readonly responseBody: string | null;
  /** Null when `ok`; otherwise words for the customer, which name no address on the inside. */
  readonly errorMessage: string | null;
  readonly durationMs: number;
}

/** Names of the headers that come with every attempt (R151–R154). */
export interface WebhookHeaderNames {
  readonly signature: string;
  readonly event: string;
  readonly delivery: string;
}

export interface WebhookTransport {
  readonly headerNames: WebhookHeaderNames;
  /** Where webhooks of newcomers may go: a receiver that the gateway serves itself. Null where it does not. */
  readonly simulatorUrl: string | null;
  /** Resolves with the canonical URL, to store and show; rejects with `TargetRefused` (R32, R160–R162). */
  checkTarget(url: string): Promise<string>;
  /** Judges the address of something that is no webhook as strictly, the gateway's own receiver included. */
  checkAddress(url: string): Promise<void>;
  /** Makes one attempt, 10 s at most, name lookup included. Never rejects. */
  attempt(request: AttemptRequest): Promise<AttemptResult>;
  /** Breaks off attempts under way and closes every connection. */
  close(): Promise<void>;
}
