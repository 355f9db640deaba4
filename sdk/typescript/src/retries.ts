import type { GatewayError } from './errors.ts';

/**
 * Whether a retry is safe. `always`: the request only reads, or sets the same values again. `keyed`: the idempotency
 * key prevents a second send (R19). `once`: a retry could do it twice.
 */
export type Repeat = 'always' | 'keyed' | 'once';

const MAX_DELAY_MS = 8_000;
/**
 * Longest `retryAfter` that the SDK waits for, in seconds. The gateway's rate limits have windows of 60 s. For a longer
 * wait the caller gets the error.
 */
const MAX_RETRY_AFTER_SECONDS = 60;

/** Error codes that mean that no connection was opened, so nothing was sent. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  // The code that Bun uses.
  'ConnectionRefused',
]);
/** Deno's errors have no code, so the message is searched. */
const NEVER_CONNECTED_WORDS = /connection refused|dns error|failed to lookup address/i;

/** Codes of answers after which nothing was done. */
const NOT_DONE: readonly string[] = ['service_unavailable', 'account_moving'];

/**
 * True if the request may be retried after `error`: a network error, 5xx or 429. With `once`, only if the gateway
 * surely did not carry it out.
 */
export function mayRepeat(repeat: Repeat, error: GatewayError): boolean {
  if (error.retryAfter !== null && error.retryAfter > MAX_RETRY_AFTER_SECONDS) return false;
  if (error.statusCode === 429) return true;
  if (error.code === 'network_error') return repeat !== 'once' || wasNeverSent(error.cause);
  if (error.statusCode === null || error.statusCode < 500) return false;
  return repeat !== 'once' || NOT_DONE.includes(error.code);
}

function wasNeverSent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (typeof code === 'string' && NEVER_CONNECTED.has(code)) return true;
  return (typeof message === 'string' && NEVER_CONNECTED_WORDS.test(message)) || wasNeverSent(cause);
}

/**
 * Milliseconds to wait after attempt number `attempt` (from 1). It is `retryAfter` plus a random part of `baseMs`.
 * `baseMs` doubles with each attempt, up to 8 s (full jitter). `random` is from 0 to 1.
 */
export function delayBefore(
  attempt: number,
  baseMs: number,
  retryAfter: number | null,
  random: number,
): number {
  const longest = Math.min(MAX_DELAY_MS, baseMs * 2 ** (attempt - 1));
  return (retryAfter ?? 0) * 1000 + longest * random;
}

/** Waits `ms`. Rejects with the signal's reason when the signal aborts. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
