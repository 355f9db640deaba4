/**
 * Limits texts from outside. A message quotes at most this many UTF-16 code units of a value, so that hostile values
 * cannot fill responses and logs (R207, R216).
 */
const QUOTED_MAX_LENGTH = 100;
/** Length to which a library's message is shortened, in UTF-16 code units. Usual messages are shorter. */
const MESSAGE_MAX_LENGTH = 1_000;
const ELLIPSIS = '…';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** Returns the first 100 UTF-16 code units, and `…` if there are more. It does not split a surrogate pair. */
export function truncate(value: string): string {
  return truncateTo(value, QUOTED_MAX_LENGTH);
}

/** Returns the truncated value in double quotes. */
export function quote(value: string): string {
  return JSON.stringify(truncate(value));
}

function truncateTo(text: string, length: number): string {
  if (text.length <= length) return text;
  const isInPair = (text.codePointAt(length - 1) ?? 0) > 0xffff;
  return text.slice(0, isInPair ? length - 1 : length) + ELLIPSIS;
}

/**
 * Shortens a library's message that quotes whole values. It truncates each quoted text, each list or object in
 * brackets, and each word. It takes linear time in the length of the message.
 */
export function truncateQuotes(message: string): string {
  if (message.length <= QUOTED_MAX_LENGTH) return message;
  let short = '';
  for (let start = 0; start < message.length && short.length <= MESSAGE_MAX_LENGTH; ) {
    const end = endOfValue(message, start);
    const value = message.slice(start, end);
    // Keep the quotes around a truncated text.
    const isText = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    short += isText ? `"${truncate(value.slice(1, -1))}"` : truncate(value);
    start = end;
  }
  return truncateTo(short, MESSAGE_MAX_LENGTH);
}

/** Returns the end of the quoted text, bracket or word that begins at `start`. A space counts as a word. */
function endOfValue(message: string, start: number): number {
  const first = message.charCodeAt(start);
  if (first === QUOTE) return endOfText(message, start);
  if (bracketOf(first) > 0) return endOfBrackets(message, start);
  let end = start + 1;
  if (first === SPACE) return end;
  for (; end < message.length; end++) {
    const code = message.charCodeAt(end);
    if (code === SPACE || code === QUOTE || bracketOf(code) > 0) break;
  }
  return end;
}

function endOfText(message: string, start: number): number {
  for (let index = start + 1; index < message.length; index++) {
    const code = message.charCodeAt(index);
    if (code === BACKSLASH) index += 1;
    else if (code === QUOTE) return index + 1;
  }
  return message.length;
}

function endOfBrackets(message: string, start: number): number {
  let depth = 0;
  for (let index = start; index < message.length; ) {
    const code = message.charCodeAt(index);
    depth += bracketOf(code);
    index = code === QUOTE ? endOfText(message, index) : index + 1;
    if (depth === 0) return index;
  }
  return message.length;
}

/** Returns 1 for an opening bracket, -1 for a closing one, otherwise 0. */
function bracketOf(code: number): number {
  if (code === 0x5b || code === 0x7b) return 1;
  return code === 0x5d || code === 0x7d ? -1 : 0;
}

/**
 * Makes a text storable in PostgreSQL: replaces U+0000 and unpaired surrogates by U+FFFD. Truncates it to `maxLength`
 * UTF-16 code units. Equal texts stay equal.
 */
export function storable(text: string, maxLength = text.length): string {
  return text.slice(0, maxLength).toWellFormed().replaceAll('\0', '\uFFFD');
}
