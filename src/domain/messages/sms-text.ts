/**
 * **Septet**: the 7-bit unit of GSM-7. A character of the extension table takes two. **Segment**: one of the parts in
 * which the carrier sends a text. A single segment holds 160 septets in GSM-7 or 70 code units in UCS-2. Each of
 * several segments holds 153 or 67. **Billing unit**: 160 UTF-16 code units (R193).
 *
 * The carrier sends segments, but accounts pay for billing units. Never use one instead of the other.
 */
export type SmsEncoding = 'GSM-7' | 'UCS-2';

export interface SmsTextDescription {
  readonly encoding: SmsEncoding;
  /** Number of segments. 0 for the empty text. */
  readonly segments: number;
  /** Number of billing units that are charged (R193). 0 for the empty text. */
  readonly billingUnits: number;
  /** Length of the text in UTF-16 code units (R5). */
  readonly length: number;
}

export interface UnicodeCharacter {
  /** One code point. */
  readonly char: string;
  /** Offset in the text, in UTF-16 code units. */
  readonly index: number;
}

const BILLING_UNIT = 160;
const GSM = { single: 160, part: 153 };
const UCS2 = { single: 70, part: 67 };

// The characters of GSM 03.38 in the order of its table, without the escape 0x1B.
const GSM_BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const GSM_EXTENSION = '\f^{}\\[~]|€';

/**
 * Number of septets by UTF-16 code unit: 1, 2, or 0 for a character that GSM-7 does not have. The table ends with the
 * euro sign, because no other character of GSM-7 has a higher code unit.
 */
const SEPTETS = septetTable();

function septetTable(): Uint8Array {
  const table = new Uint8Array('€'.charCodeAt(0) + 1);
  for (const char of GSM_BASIC) table[char.charCodeAt(0)] = 1;
  for (const char of GSM_EXTENSION) table[char.charCodeAt(0)] = 2;
  return table;
}

/**
 * Returns the encoding, segments and billing units of a text (R5, R192, R193). A segment never ends inside an escaped
 * GSM-7 character or a surrogate pair. So a text may need one segment more than its length suggests.
 */
export function describeText(text: string): SmsTextDescription {
  const { length } = text;
  const septets = countSeptets(text);
  const encoding = septets === undefined ? 'UCS-2' : 'GSM-7';
  return {
    encoding,
    segments: septets === undefined ? ucs2Segments(text) : gsmSegments(text, septets),
    billingUnits: Math.ceil(length / BILLING_UNIT),
    length,
  };
}

/** Returns the number of septets. Undefined if a character is not in GSM-7. */
function countSeptets(text: string): number | undefined {
  let septets = 0;
  for (let i = 0; i < text.length; i++) {
    const cost = SEPTETS[text.charCodeAt(i)];
    if (!cost) return undefined;
    septets += cost;
  }
  return septets;
}

function gsmSegments(text: string, septets: number): number {
  if (septets <= GSM.single) return septets === 0 ? 0 : 1;
  // Each character is one septet, so no character can cross the end of a segment. A division is enough.
  if (septets === text.length) return Math.ceil(septets / GSM.part);
  let segments = 1;
  let used = 0;
  for (let i = 0; i < text.length; i++) {
    const cost = SEPTETS[text.charCodeAt(i)] ?? 0;
    if (used + cost > GSM.part) {
      segments++;
      used = 0;
    }
    used += cost;
  }
  return segments;
}

function ucs2Segments(text: string): number {
  if (text.length <= UCS2.single) return 1;
  let segments = 0;
  for (let start = 0; start < text.length; segments++) {
    const end = start + UCS2.part;
    // A surrogate pair that would cross the end of the segment goes to the next segment.
    start = isPair(text, end - 1) ? end - 1 : end;
  }
  return segments;
}

function isPair(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}

/**
 * Returns each occurrence of a character that is not in GSM-7, with its offset (R21). The list is empty exactly when
 * `describeText` returns GSM-7.
 */
export function unicodeCharacters(text: string): UnicodeCharacter[] {
  const found: UnicodeCharacter[] = [];
  for (let index = 0; index < text.length; index++) {
    if (SEPTETS[text.charCodeAt(index)]) continue;
    const char = String.fromCodePoint(text.codePointAt(index) ?? 0);
    found.push({ char, index });
    index += char.length - 1;
  }
  return found;
}
