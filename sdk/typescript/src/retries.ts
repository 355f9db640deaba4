import type { GatewayError } from './errors.ts';

/**
 * What a repeat can do. `always`: no harm, as the request reads, or sets what it would set again. `keyed`: no harm, as the
 * idempotency key makes it one send (R19). `once`: it could be done twice.
 */
export type Repeat = 'always' | 'keyed' | 'once';

const MAX_DELAY_MS = 8_000;
/** The gateway's windows have 60 seconds; who is told to wait for longer decides for himself. */
const MAX_RETRY_AFTER_SECONDS = 60;

/** Codes under which no connection came to be, so that nothing was sent. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  // Bun's.
  'ConnectionRefused',
]);
/** Deno has no codes. */
const NEVER_CONNECTED_WORDS = /connection refused|dns error|failed to lookup address/i;

/**
 * Whether the request may be sent again after `error`: after a network error, a 5xx or a 429, and of what could be done
 * twice only where it was surely not done.
 */
export function mayRepeat(repeat: Repeat, error: GatewayError): boolean {
  if (error.retryAfter !== null && error.retryAfter > MAX_RETRY_AFTER_SECONDS) return false;
  if (error.statusCode === 429) return true;
  if (error.code === 'network_error') return repeat !== 'once' || wasNeverSent(error.cause);
  if (error.statusCode === null || error.statusCode < 500) return false;
  return repeat !== 'once' || error.code === 'service_unavailable';
}

function wasNeverSent(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  if (typeof code === 'string' && NEVER_CONNECTED.has(code)) return true;
  return (typeof message === 'string' && NEVER_CONNECTED_WORDS.test(message)) || wasNeverSent(cause);
}

/**
 * Milliseconds to wait before the try after `attempt`, the first of which is 1: any part of `baseMs`, doubled with each
 * try up to 8 seconds (full jitter), on top of what the gateway asks for.
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

/** Rejects with the signal's reason as soon as it aborts. */
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
