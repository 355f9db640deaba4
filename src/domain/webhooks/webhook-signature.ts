/** Signs webhook deliveries, and checks signatures as a receiver does (R155–R159). */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** Largest difference between `t` and the receiver's clock, in seconds (R158). */
const WEBHOOK_TOLERANCE_SECONDS = 300;

/**
 * Returns `v1`, the HMAC-SHA-256 of `<t>.<raw body>` in hex. The key is the whole secret as UTF-8, `whsec_` included
 * (R29).
 */
export function signWebhook(secret: string, timestampSeconds: number, rawBody: string | Uint8Array): string {
  return createHmac('sha256', secret).update(`${timestampSeconds}.`).update(rawBody).digest('hex');
}

/**
 * Returns the value of the signature header: `t=<unix seconds>,v1=<hex hmac>` (R151–R154). The webhook transport calls
 * it for each attempt.
 */
export function webhookSignatureHeader(
  secret: string,
  timestampSeconds: number,
  rawBody: string | Uint8Array,
): string {
  return `t=${timestampSeconds},v1=${signWebhook(secret, timestampSeconds, rawBody)}`;
}

/**
 * True if `header` signs exactly these bytes with this secret, and `t` differs from `nowSeconds` by at most 300 s.
 * Compares in constant time. Never throws.
 */
export function verifyWebhook(
  secret: string,
  header: string,
  rawBody: string | Uint8Array,
  nowSeconds: number,
): boolean {
  const [, t, v1] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  if (t === undefined || v1 === undefined) return false;
  if (Math.abs(nowSeconds - Number(t)) > WEBHOOK_TOLERANCE_SECONDS) return false;
  const expected = createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest();
  return timingSafeEqual(expected, Buffer.from(v1, 'hex'));
}
