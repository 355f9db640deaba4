/** WhatsApp's error codes in answers and in status callbacks (R25). */
interface PlatformError {
  readonly code: number;
  readonly words: string;
}

/**
 * What an error means.
 * - `permanent`: a retry cannot help.
 * - `throttled`: retry later.
 * - `throttled pair`: retry later, but only messages between this sender and this recipient are throttled.
 * - `own`: the operator must fix the account or the token.
 */
export type ErrorMeaning =
  | { readonly kind: 'permanent'; readonly code: string; readonly words: string }
  | { readonly kind: 'throttled' | 'throttled pair' | 'temporary' | 'own'; readonly words: string };

/** Codes for which the gateway has a name. Other permanent errors keep their number. */
const NAMED: Readonly<Record<number, string>> = {
  131047: 'session_window_closed',
  132001: 'unknown_template',
  132000: 'template_mismatch',
  132012: 'template_mismatch',
  131026: 'undeliverable',
  131021: 'undeliverable',
  131052: 'media_failed',
  131053: 'media_failed',
};
const THROTTLED = new Set([4, 80007, 130429, 131048]);
const THROTTLED_PAIR = 131056;
const TEMPORARY = new Set([1, 2, 131000, 131016, 131057, 133004]);
/** Codes of errors with the token, the permissions, the payment or a locked account. Only the operator can fix them. */
const OWN = new Set([0, 3, 10, 33, 190, 368, 131005, 131031, 131042, 133010]);

/** Codes of answers to a question about an object that does not exist, is hidden from the app, or is no number. */
const NO_SUCH_NUMBER = new Set([100, 803]);

/** True if the platform says that it knows no number by the id that was asked about. */
export function isUnknownNumber({ code }: PlatformError): boolean {
  return NO_SUCH_NUMBER.has(code);
}

/** Reads an error object. Undefined if it is not one. */
export function readError(error: unknown): PlatformError | undefined {
  const { code, title, message, error_data } = (error ?? {}) as Record<string, unknown>;
  if (typeof code !== 'number') return undefined;
  const details = (error_data as { details?: unknown } | undefined)?.details;
  const words = [details, message, title].find((text) => typeof text === 'string' && text !== '');
  return { code, words: typeof words === 'string' ? words.slice(0, 500) : 'no details' };
}

/** Says what an error means for the message. */
export function meaningOf({ code, words }: PlatformError): ErrorMeaning {
  const told = `WhatsApp says ${code}: ${words}`;
  if (code === THROTTLED_PAIR) return { kind: 'throttled pair', words: told };
  if (THROTTLED.has(code)) return { kind: 'throttled', words: told };
  if (TEMPORARY.has(code)) return { kind: 'temporary', words: told };
  if (OWN.has(code) || (code >= 200 && code <= 299)) return { kind: 'own', words: told };
  return { kind: 'permanent', code: NAMED[code] ?? String(code), words: told };
}
