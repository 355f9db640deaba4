/** Longest sender ID, in characters (R185). */
export const SENDER_ID_MAX_LENGTH = 11;

const SENDER_ID = /^[A-Za-z0-9]+$/;

/**
 * Accepts 1 to 11 ASCII letters and digits and returns them unchanged (R22, R92). Returns undefined for anything
 * else.
 */
export function parseSenderId(raw: string): string | undefined {
  return raw.length <= SENDER_ID_MAX_LENGTH && SENDER_ID.test(raw) ? raw : undefined;
}
