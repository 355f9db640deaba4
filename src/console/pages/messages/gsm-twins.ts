import { type UnicodeCharacter, unicodeCharacters } from '../../../domain/messages/sms-text.ts';

/**
 * Maps a character that GSM-7 lacks to the GSM-7 character that looks like it. One such character makes the SMS longer.
 */
const TWINS: ReadonlyMap<string, string> = new Map(
  [
    ["'", '‘’‚‛′´ʼ'],
    ['"', '“”„‟«»″'],
    ['-', '‐‑‒–—―−'],
    [' ', '\t\u00a0\u2002\u2003\u2007\u2009\u200a\u202f'],
    ['', '\u00ad\u200b\u200c\u200d\u2060\ufeff'],
    ['...', '…'],
    ['*', '•·'],
    ['x', '×'],
    ['/', '⁄'],
  ].flatMap(([twin = '', characters = '']) => [...characters].map((each) => [each, twin] as const)),
);

/** Returns the similar GSM-7 character, or undefined if there is none. */
function twinOf(char: string): string | undefined {
  return TWINS.get(char);
}

/** Replaces characters by the similar ones of GSM-7: all of them, or only the character `only`. */
export function withTwins(text: string, only?: string): string {
  return [...text]
    .map((char) => (only === undefined || char === only ? (twinOf(char) ?? char) : char))
    .join('');
}

export interface Offender {
  readonly char: string;
  readonly count: number;
  readonly twin: string | undefined;
}

/** Returns each character that forces the encoding UCS-2, once. Replaceable characters are first. */
export function offendersIn(characters: readonly UnicodeCharacter[]): readonly Offender[] {
  const offenders = [...Map.groupBy(characters, ({ char }) => char)].map(([char, all]) => ({
    char,
    count: all.length,
    twin: twinOf(char),
  }));
  return offenders.sort((left, right) => Number(left.twin === undefined) - Number(right.twin === undefined));
}

export interface Piece {
  readonly text: string;
  /** Index of the piece's first character in the text. */
  readonly index: number;
  readonly isOffender: boolean;
}

/** Splits a text into pieces. All characters of a piece are in GSM-7, or none is. */
export function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const { char, index } of unicodeCharacters(text)) {
    if (index > end) pieces.push({ text: text.slice(end, index), index: end, isOffender: false });
    const last = pieces.at(-1);
    if (last?.isOffender) pieces[pieces.length - 1] = { ...last, text: last.text + char };
    else pieces.push({ text: char, index, isOffender: true });
    end = index + char.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), index: end, isOffender: false });
  return pieces;
}
