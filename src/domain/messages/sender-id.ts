/** In characters (R185). */
export const SENDER_ID_MAX_LENGTH = 11;

const SENDER_ID = /^[A-Za-z0-9]+$/;

/**
 * Reads a sender ID (R92): 1 to 11 ASCII letters and digits, given back
 * as they are, small letters too (R22). Undefined for everything else: nothing is trimmed or cut.
 */
export function parseSenderId(raw: string): string | undefined {
  return raw.length <= SENDER_ID_MAX_LENGTH && SENDER_ID.test(raw) ? raw : undefined;
}
