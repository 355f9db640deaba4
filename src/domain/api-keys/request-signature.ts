/**
 * **Signing secret**: `sigsec_…`; the HMAC key is the UTF-8 of the whole string (R10). **Signed path**: the request
 * path as sent, with `/api/v1` and without the query.
 *
 * The verdict `ok` means that the signature is genuine and fresh. Whether it was used before is for the store of
 * used signatures, which keeps it until `signatureRetainedUntil`.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** R134 and R191. */
const MAX_SKEW_SECONDS = 120;

// Exactly ten digits. The signed fields have no separator, so a timestamp of another length could move a digit into
// the path (…/x + 1700… or …/x1 + 700…).
const TIMESTAMP = /^\d{10}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

export interface SignedRequest {
  readonly secret: string;
  readonly method: string;
  /** A path or a whole request target. A query is removed (R10). */
  readonly path: string;
  /** The header `x-timestamp` as sent. */
  readonly timestamp: string;
  /** The header `x-signature` as sent. */
  readonly signature: string;
  readonly rawBody: Uint8Array;
  readonly now: Date;
}

export type SignatureVerdict = 'ok' | 'bad_timestamp' | 'stale' | 'bad_signature';

/**
 * The signature in lower-case hex (R10, R131–R133): HMAC-SHA-256 over method, path, timestamp and the hex SHA-256 of
 * the raw body, without separators.
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
 * Verifies a signature (R131–R134). The timestamp is Unix seconds and at most 120 seconds, inclusive, from the
 * second of `now`. The signature is 64 lower-case hex digits and is compared in constant time. Never throws.
 */
export function verifyRequestSignature(request: SignedRequest): SignatureVerdict {
  const { secret, method, path, timestamp, signature, rawBody, now } = request;
  const fault = signatureHeadersFault(timestamp, signature, now);
  if (fault) return fault;
  const expected = hmac(secret, method, path, timestamp, rawBody);
  return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? 'ok' : 'bad_signature';
}

/** A fault of the headers that does not depend on the body. With one, the body need not be read and hashed. */
export function signatureHeadersFault(
  timestamp: string,
  signature: string,
  now: Date,
): Exclude<SignatureVerdict, 'ok'> | undefined {
  if (!TIMESTAMP.test(timestamp)) return 'bad_timestamp';
  const skewSeconds = Math.floor(now.getTime() / 1000) - Number(timestamp);
  if (Math.abs(skewSeconds) > MAX_SKEW_SECONDS) return 'stale';
  // `timingSafeEqual` throws on unequal lengths.
  return SIGNATURE.test(signature) ? undefined : 'bad_signature';
}

/** The time from which a timestamp that passed is refused, so that its signature may be deleted (R10). */
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
