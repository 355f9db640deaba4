/** Texts that take slow code a long time: a few characters that are repeated many times. */

const PUNCTUATION = [...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'];
const SPACES = [' ', '\t', '\n', '\u3000'];
const MARKS = ['\u0301', '\u0316\u0301', '\u{1f468}\u200d\u{1f469}\u200d', '\u202e', '\u0130', '\ufdfa'];
/** Lone surrogates and U+0000. */
const BROKEN = ['\ud800', '\udc00', '\0'];
/** Strings that the code of the gateway, a parser or a library searches for. */
const WORDS = [
  ' Did you mean ',
  '{"',
  '\\"',
  '\\\\',
  '"""',
  '",',
  '"a",',
  'a.',
  '@a.',
  '0',
  '00,',
  '+4400000000,',
  '+12000000,',
  'a@\u00fc,',
  '+256700123456,',
  '<a@a>,',
  '=?utf-8?q?',
  '../',
  'a://',
  'http://',
  'a://a@',
  '\u00fc.',
  '; session=',
  'text/event-stream ',
  '*/*,',
  ' at "a',
  'Variable "$a" got invalid value ',
  'Field "a.',
  '\n ',
  '{a',
  '$a:Int ',
  '#a\n',
];

export interface HostileText {
  /** The repeated characters as JSON. */
  readonly name: string;
  /** Returns the characters repeated to `length`, with an end that matches no pattern. */
  readonly of: (length: number) => string;
}

const END = '\u0001!';

export const HOSTILE_TEXTS: readonly HostileText[] = [
  ...PUNCTUATION,
  ...SPACES,
  ...MARKS,
  ...BROKEN,
  ...WORDS,
].map((unit) => ({
  name: JSON.stringify(unit),
  of: (length) => unit.repeat(Math.ceil(length / unit.length)).slice(0, length - END.length) + END,
}));

/** Returns a harmless text of `length`. */
export function plainText(length: number): string {
  return 'plain words '.repeat(Math.ceil(length / 12)).slice(0, length);
}
