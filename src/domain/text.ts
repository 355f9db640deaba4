/**
 * How messages quote what a caller gave: at most 100 characters of it, so that no answer and no log grows with a
 * hostile value, and whatever looks through a message looks through little.
 */
const QUOTED_MAX_LENGTH = 100;
/** No message of a library needs more, its own words included. */
const MESSAGE_MAX_LENGTH = 1_000;
const ELLIPSIS = '…';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** The first 100 UTF-16 code units of a value, and `…` where it has more. No surrogate pair is cut in two. */
export function truncate(value: string): string {
  return truncateTo(value, QUOTED_MAX_LENGTH);
}

/** A value in double quotes, cut as `truncate` does. */
export function quote(value: string): string {
  return JSON.stringify(truncate(value));
}

function truncateTo(text: string, length: number): string {
  if (text.length <= length) return text;
  const isInPair = (text.codePointAt(length - 1) ?? 0) > 0xffff;
  return text.slice(0, isInPair ? length - 1 : length) + ELLIPSIS;
}

/**
 * A message of a library that quotes values whole: each text in double quotes, each list or object in brackets and
 * each word is cut as `truncate` does. Takes one pass over the message, however long it is.
 */
export function truncateQuotes(message: string): string {
  if (message.length <= QUOTED_MAX_LENGTH) return message;
  let short = '';
  for (let start = 0; start < message.length && short.length <= MESSAGE_MAX_LENGTH; ) {
    const end = endOfValue(message, start);
    const value = message.slice(start, end);
    // The quotes are the message's; what stands between them is the value's.
    const isText = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    short += isText ? `"${truncate(value.slice(1, -1))}"` : truncate(value);
    start = end;
  }
  return truncateTo(short, MESSAGE_MAX_LENGTH);
}

/** Where the text in quotes, the brackets or the word that begins at `start` ends; a space is one by itself. */
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

/** 1 for what opens a list or an object, -1 for what closes one. */
function bracketOf(code: number): number {
  if (code === 0x5b || code === 0x7b) return 1;
  return code === 0x5d || code === 0x7d ? -1 : 0;
}

/**
 * Text of others as PostgreSQL keeps it: U+FFFD stands for U+0000 and for halves of characters, and what goes beyond
 * `maxLength` UTF-16 code units is cut off. What was the same stays the same.
 */
export function storable(text: string, maxLength = text.length): string {
  return text.slice(0, maxLength).toWellFormed().replaceAll('\0', '\uFFFD');
}
