/**
 * **Septet**: the unit of GSM-7; a character of the extension table takes two. **Segment**: the carrier's part of a
 * text (160 septets alone, 153 in several; 70 and 67 code units in UCS-2). **Billing unit**: 160 UTF-16 code units
 * (R193). Segments are sent, billing units are charged; never interchange them.
 */
export type SmsEncoding = 'GSM-7' | 'UCS-2';

export interface SmsTextDescription {
  readonly encoding: SmsEncoding;
  /** Parts of the text on the wire; 0 for the empty text. */
  readonly segments: number;
  /** Charged units of 160 UTF-16 code units (R193); 0 for the empty text. */
  readonly billingUnits: number;
  /** UTF-16 code units (R5). */
  readonly length: number;
}

export interface UnicodeCharacter {
  /** One code point. */
  readonly char: string;
  /** Offset in UTF-16 code units. */
  readonly index: number;
}

const BILLING_UNIT = 160;
const GSM = { single: 160, part: 153 };
const UCS2 = { single: 70, part: 67 };

// GSM 03.38 in the order of its table, without the escape 0x1B.
const GSM_BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const GSM_EXTENSION = '\f^{}\\[~]|€';

/** Septets by UTF-16 code unit: 1, 2, or 0 for a character that GSM-7 lacks. The euro sign is the last entry. */
const SEPTETS = septetTable();

function septetTable(): Uint8Array {
  const table = new Uint8Array('€'.charCodeAt(0) + 1);
  for (const char of GSM_BASIC) table[char.charCodeAt(0)] = 1;
  for (const char of GSM_EXTENSION) table[char.charCodeAt(0)] = 2;
  return table;
}

/**
 * The encoding, segments and billing units of a text (R5, R192, R193). A segment never ends inside an escaped GSM-7
 * character or a surrogate pair, so a text may need one segment more than its length suggests.
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

/** Undefined when a character is not in GSM-7. */
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
  // Without extension characters no character crosses a boundary.
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
    // A pair that would cross the boundary goes to the next segment.
    start = isPair(text, end - 1) ? end - 1 : end;
  }
  return segments;
}

function isPair(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}

/**
 * The characters that are not in GSM-7, each occurrence with its offset (R21). Empty exactly when `describeText`
 * returns GSM-7.
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
