/** Texts that make slow code slow: the same few characters, over and over. */

const PUNCTUATION = [...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'];
const SPACES = [' ', '\t', '\n', '\u3000'];
const MARKS = ['\u0301', '\u0316\u0301', '\u{1f468}\u200d\u{1f469}\u200d', '\u202e', '\u0130', '\ufdfa'];
/** Lone surrogates and U+0000. */
const BROKEN = ['\ud800', '\udc00', '\0'];
/** Strings that the code of a gateway, a parser or a library searches for. */
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
  /** The repeated unit as JSON. */
  readonly name: string;
  /** The unit repeated to `length`, with an end that matches nothing. */
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

/** Harmless text of the same length. */
export function plainText(length: number): string {
  return 'plain words '.repeat(Math.ceil(length / 12)).slice(0, length);
}
