/**
 * Terms. **Refusal**: the gateway's own answer, which says in `code` what it did not do. **Uncertain**: no answer of the
 * gateway arrived, so the request may have been carried out.
 */
import type { GatewayErrorCode } from './types.generated.ts';

/** The gateway's codes, and two that are made here: no answer came, or one that is not the gateway's. */
export type ErrorCode = GatewayErrorCode | 'network_error' | 'bad_gateway_response' | (string & {});

/** What a `GatewayError` is made of. */
export interface ErrorFacts {
  readonly code: ErrorCode;
  /** HTTP status; null where no answer came. */
  readonly statusCode: number | null;
  readonly message: string;
  /** What the refusal is about; its members depend on the code. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  /** Names the request in the gateway's logs. */
  readonly requestId?: string | null | undefined;
  /** Seconds after which a repeat makes sense, where the gateway says so. */
  readonly retryAfter?: number | null | undefined;
  /** A repeat with this key within 24 hours sends nothing twice; null for a request that takes none. */
  readonly idempotencyKey?: string | null | undefined;
  /** How often the request was tried. */
  readonly attempts?: number | undefined;
  readonly cause?: unknown;
}

/** A request that did not succeed. The subclasses say what to do next. */
export class GatewayError extends Error {
  // Said here, as bundlers shorten the names of classes.
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

/** 400, 413 and 415: change the request; `details.fields` names what is wrong where there is a list of it. */
export class InvalidRequestError extends GatewayError {
  override readonly name = 'InvalidRequestError';
}

/** 401 and 403: use another key, or give this one what it lacks. */
export class AccessError extends GatewayError {
  override readonly name = 'AccessError';
}

/** 402: top up the account; `details` has `balance`, `required` and `currency`. */
export class BalanceError extends GatewayError {
  override readonly name = 'BalanceError';
}

/** 404: there is no such thing for this key. */
export class NotFoundError extends GatewayError {
  override readonly name = 'NotFoundError';
}

/** 409: the thing is not in a state for this; look at it first. */
export class ConflictError extends GatewayError {
  override readonly name = 'ConflictError';
}

/** 429: wait `retryAfter` seconds, then ask again. */
export class RateLimitError extends GatewayError {
  override readonly name = 'RateLimitError';
}

/** 503 `service_unavailable`: it was not done; ask again later. */
export class UnavailableError extends GatewayError {
  override readonly name = 'UnavailableError';
}

/**
 * It may have been done: no answer came, or the gateway does not know. Repeat it with the same `idempotencyKey`, or look
 * it up (`details.messageId` of a send, where it is known); repeating it otherwise could do it twice.
 */
export class UncertainError extends GatewayError {
  override readonly name = 'UncertainError';
}

/** The error of the class that says what to do next. */
export function errorOf(facts: ErrorFacts): GatewayError {
  const { statusCode, code } = facts;
  if (code === 'network_error' || code === 'outcome_unknown') return new UncertainError(facts);
  // Below 500 something else answered, and the gateway did not see the request.
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
