/**
 * Terms. **Signing secret**: `sigsec_…`, used as the UTF-8 of the whole string as given (R10).
 * **Signed path**: the request path as it came over the wire, with `/api/v1` and without the query.
 *
 * A verdict of `ok` says that the signature is genuine and fresh; that it was not used before is for the
 * store of spent signatures, which keeps it until `signatureRetainedUntil`.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Contract, Limits: HMAC timestamp skew. */
const MAX_SKEW_SECONDS = 120;

// Ten digits, not any number of them: the signed fields stand side by side without a separator, so a
// timestamp of another length could lend a digit to the path (…/x + 1700… or …/x1 + 700…).
const TIMESTAMP = /^\d{10}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

export interface SignedRequest {
  readonly secret: string;
  readonly method: string;
  /** The path or the whole request target: a query is cut off (R10). */
  readonly path: string;
  /** The header `x-timestamp` as it came. */
  readonly timestamp: string;
  /** The header `x-signature` as it came. */
  readonly signature: string;
  readonly rawBody: Uint8Array;
  readonly now: Date;
}

export type SignatureVerdict = 'ok' | 'bad_timestamp' | 'stale' | 'bad_signature';

/**
 * The signature of a request in lowercase hex (R10, R131–R133):
 * HMAC-SHA-256 over method, path, timestamp and the hex SHA-256 of the raw body, without separators.
 */
export function signRequest(
  secret: string,
  method: string,
  path: string,
  timestamp: string,
  rawBody: Uint8Array,
): string {
  return hmac(secret, method, path, timestamp, rawBody).toString('hex');
}

/**
 * Judges the signature of a request (R131–R134). The timestamp is Unix
 * seconds in plain digits and lies at most 120 seconds, inclusive, from the whole second of `now`; the
 * signature is exactly 64 lowercase hex digits and is compared in constant time. Never throws.
 */
export function verifyRequestSignature(request: SignedRequest): SignatureVerdict {
  const { secret, method, path, timestamp, signature, rawBody, now } = request;
  const fault = signatureHeadersFault(timestamp, signature, now);
  if (fault) return fault;
  const expected = hmac(secret, method, path, timestamp, rawBody);
  return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? 'ok' : 'bad_signature';
}

/** What is wrong with the headers whatever the body is: what has a fault is not worth reading and hashing its body. */
export function signatureHeadersFault(
  timestamp: string,
  signature: string,
  now: Date,
): Exclude<SignatureVerdict, 'ok'> | undefined {
  if (!TIMESTAMP.test(timestamp)) return 'bad_timestamp';
  const skewSeconds = Math.floor(now.getTime() / 1000) - Number(timestamp);
  if (Math.abs(skewSeconds) > MAX_SKEW_SECONDS) return 'stale';
  // Also keeps timingSafeEqual from throwing on unequal lengths.
  return SIGNATURE.test(signature) ? undefined : 'bad_signature';
}

/** The first instant at which a timestamp that passed can pass no more, so its signature may be forgotten (R10). */
export function signatureRetainedUntil(timestamp: string): Date {
  return new Date((Number(timestamp) + MAX_SKEW_SECONDS + 1) * 1000);
}

function hmac(secret: string, method: string, path: string, timestamp: string, rawBody: Uint8Array): Buffer {
  const query = path.indexOf('?');
  return createHmac('sha256', secret)
    .update(method)
    .update(query < 0 ? path : path.slice(0, query))
    .update(timestamp)
    .update(createHash('sha256').update(rawBody).digest('hex'))
    .digest();
}
