/**
 * Signs requests, and verifies their signatures. **Signing secret**: `sigsec_…`. The whole string as UTF-8 is the HMAC
 * key (R10). **Signed path**: the request path as sent, with `/api/v1` and without the query.
 *
 * The verdict `ok` means that the signature is right and its timestamp is recent. It does not mean that the signature
 * is new: `SpentSignatures` stores used signatures until `signatureRetainedUntil`.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Largest difference between the timestamp and the server's clock, in seconds (R134, R191). */
const MAX_SKEW_SECONDS = 120;

// Exactly ten digits. The signed fields have no separator. With another length, a digit could move between path and
// timestamp without changing the signature: `…/x` and `1700…`, or `…/x1` and `700…`.
const TIMESTAMP = /^\d{10}$/;
const SIGNATURE = /^[0-9a-f]{64}$/;

export interface SignedRequest {
  readonly secret: string;
  readonly method: string;
  /** The path, or the path with a query, which is removed (R10). */
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
 * Returns the signature in lower-case hex (R10, R131–R133). It is the HMAC-SHA-256 of method, path, timestamp and the
 * SHA-256 of the raw body in hex, without separators.
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
 * Verifies a signature (R131–R134). The timestamp is in Unix seconds and may differ from `now` by at most 120 s. The
 * signature is 64 lower-case hex digits and is compared in constant time. Never throws.
 */
export function verifyRequestSignature(request: SignedRequest): SignatureVerdict {
  const { secret, method, path, timestamp, signature, rawBody, now } = request;
  const fault = signatureHeadersFault(timestamp, signature, now);
  if (fault) return fault;
  const expected = hmac(secret, method, path, timestamp, rawBody);
  return timingSafeEqual(expected, Buffer.from(signature, 'hex')) ? 'ok' : 'bad_signature';
}

/**
 * Returns what is wrong with the headers. Undefined if nothing is. The caller reads and hashes the body only if this
 * check finds nothing.
 */
export function signatureHeadersFault(
  timestamp: string,
  signature: string,
  now: Date,
): Exclude<SignatureVerdict, 'ok'> | undefined {
  if (!TIMESTAMP.test(timestamp)) return 'bad_timestamp';
  const skewSeconds = Math.floor(now.getTime() / 1000) - Number(timestamp);
  if (Math.abs(skewSeconds) > MAX_SKEW_SECONDS) return 'stale';
  // Check the form here, because `timingSafeEqual` throws on unequal lengths.
  return SIGNATURE.test(signature) ? undefined : 'bad_signature';
}

/**
 * Returns the time from which a request with this timestamp is refused as too old. From then on the stored signature
 * may be deleted (R10).
 */
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
