/**
 * The GSM 03.38 default alphabet in SMPP, with one septet in each octet (not packed). **Extension characters** are
 * `€[]{}\~^|` and form feed. Each is written as ESC and a second octet. The two are never split.
 */
const ESC = 0x1b;

// U+001B only fills the place of ESC in the table. Texts cannot contain it.
const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ' +
  ' !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§' +
  '¿abcdefghijklmnopqrstuvwxyzäöñüà';

const EXTENSION: ReadonlyArray<readonly [string, number]> = [
  ['\f', 0x0a],
  ['^', 0x14],
  ['{', 0x28],
  ['}', 0x29],
  ['\\', 0x2f],
  ['[', 0x3c],
  ['~', 0x3d],
  [']', 0x3e],
  ['|', 0x40],
  ['€', 0x65],
];

const EXTENDED = new Map(EXTENSION.map(([char, octet]) => [octet, char] as const));

/** Maps a UTF-16 code unit to its octet. For extension characters, the high byte is ESC. */
const OCTETS = new Map<number, number>([
  ...[...BASIC]
    .map((char, octet) => [char.charCodeAt(0), octet] as const)
    .filter(([, octet]) => octet !== ESC),
  ...EXTENSION.map(([char, octet]) => [char.charCodeAt(0), (ESC << 8) | octet] as const),
]);

/** Returns the text as octets below 0x80. Undefined if a character is in neither table. */
export function encodeGsm7(text: string): Buffer | undefined {
  const octets = Buffer.allocUnsafe(text.length * 2);
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const code = OCTETS.get(text.charCodeAt(index));
    if (code === undefined) return undefined;
    if (code > 0xff) octets[length++] = ESC;
    octets[length++] = code & 0xff;
  }
  return octets.subarray(0, length);
}

/** Returns the text of octets below 0x80. An unknown extension character becomes the basic character of its octet. */
export function decodeGsm7(octets: Buffer): string {
  let text = '';
  for (let index = 0; index < octets.length; index++) {
    const extended = octets[index] === ESC ? EXTENDED.get(octets[index + 1] ?? ESC) : undefined;
    if (extended !== undefined) index++;
    text += extended ?? (octets[index] === ESC ? '' : (BASIC[octets[index] ?? ESC] ?? ''));
  }
  return text;
}

/**
 * Cuts encoded text into parts of at most `maxSeptets`. ESC stays with its second octet, so a part may be one septet
 * shorter.
 */
export function splitGsm7(octets: Buffer, maxSeptets: number): Buffer[] {
  const parts: Buffer[] = [];
  let start = 0;
  while (start < octets.length) {
    let end = Math.min(start + maxSeptets, octets.length);
    if (end < octets.length && octets[end - 1] === ESC) end--;
    parts.push(octets.subarray(start, end));
    start = end;
  }
  return parts;
}
