/**
 * The errors of the SDK. In the comments below:
 * **Refused** means that the gateway answered with an error `code`, so it did not do what was requested.
 * **Uncertain** means that no answer of the gateway arrived, or that the gateway does not know the outcome. It may have
 * done what was requested.
 */
import type { GatewayErrorCode } from './types.generated.ts';

/**
 * The gateway's error codes and two codes of the SDK. `network_error`: no response arrived. `bad_gateway_response`: the
 * response is not from the gateway.
 */
export type ErrorCode = GatewayErrorCode | 'network_error' | 'bad_gateway_response' | (string & {});

/** The properties of a `GatewayError`. */
export interface ErrorFacts {
  readonly code: ErrorCode;
  /** HTTP status of the response, or null if no response arrived. */
  readonly statusCode: number | null;
  readonly message: string;
  /** More about the refusal. Its members depend on the code. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** The id of the request in the gateway's logs. */
  readonly requestId?: string | null | undefined;
  /** Seconds to wait before a retry, if the gateway gave a number. */
  readonly retryAfter?: number | null | undefined;
  /** Retrying with this idempotency key within 24 hours sends nothing twice. Null for requests without such a key. */
  readonly idempotencyKey?: string | null | undefined;
  /** Number of attempts that were made. */
  readonly attempts?: number | undefined;
  readonly cause?: unknown;
}

/** A request that did not succeed. Each subclass says what to do next. */
export class GatewayError extends Error {
  // Set explicitly, because bundlers shorten class names.
  override readonly name: string = 'GatewayError';
  readonly code: ErrorCode;
  readonly statusCode: number | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  readonly retryAfter: number | null;
  readonly idempotencyKey: string | null;
  readonly attempts: number;

  constructor(facts: ErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code;
    this.statusCode = facts.statusCode;
    this.details = facts.details ?? {};
    this.requestId = facts.requestId ?? null;
    this.retryAfter = facts.retryAfter ?? null;
    this.idempotencyKey = facts.idempotencyKey ?? null;
    this.attempts = facts.attempts ?? 1;
  }
}

/**
 * Status 400, 413 or 415: change the request. `details.fields` lists the invalid fields, if the gateway gave a list.
 */
export class InvalidRequestError extends GatewayError {
  override readonly name = 'InvalidRequestError';
}

/** Status 401 or 403: use another API key, or give this key the missing scope or permission. */
export class AccessError extends GatewayError {
  override readonly name = 'AccessError';
}

/** Status 402: top up the account. `details` has `balance`, `required` and `currency`. */
export class BalanceError extends GatewayError {
  override readonly name = 'BalanceError';
}

/** Status 404: nothing with this id exists for this API key. */
export class NotFoundError extends GatewayError {
  override readonly name = 'NotFoundError';
}

/** Status 409: the current state does not allow the request. Read the state first. */
export class ConflictError extends GatewayError {
  override readonly name = 'ConflictError';
}

/** Status 429: wait `retryAfter` seconds before a retry. */
export class RateLimitError extends GatewayError {
  override readonly name = 'RateLimitError';
}

/** Status 503 with `service_unavailable`: the request was not carried out. Retry later. */
export class UnavailableError extends GatewayError {
  override readonly name = 'UnavailableError';
}

/**
 * The request may have been carried out: no response arrived, or the gateway does not know the outcome. Retry with the
 * same `idempotencyKey`, or look the message up with `details.messageId` if it is there. A retry with another key could
 * send twice.
 */
export class UncertainError extends GatewayError {
  override readonly name = 'UncertainError';
}

/** Returns an error of the subclass that fits the status and the code. */
export function errorOf(facts: ErrorFacts): GatewayError {
  const { statusCode, code } = facts;
  if (code === 'network_error' || code === 'outcome_unknown') return new UncertainError(facts);
  // The response is not from the gateway. Below 500, a proxy refused the request, so the gateway did not get it.
  if (code === 'bad_gateway_response') {
    return new ((statusCode ?? 0) >= 500 ? UncertainError : GatewayError)(facts);
  }
  switch (statusCode) {
    case 400:
    case 413:
    case 415:
      return new InvalidRequestError(facts);
    case 401:
    case 403:
      return new AccessError(facts);
    case 402:
      return new BalanceError(facts);
    case 404:
      return new NotFoundError(facts);
    case 409:
      return new ConflictError(facts);
    case 429:
      return new RateLimitError(facts);
    case 503:
      return new UnavailableError(facts);
    case 500:
    case 502:
      return new UncertainError(facts);
    default:
      return new GatewayError(facts);
  }
}
