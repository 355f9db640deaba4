/** A value that is put into a text: `{name}`. */
export interface Value {
  readonly value: string;
}

/** Forms of a text for different numbers: `{count, plural, one {# key} other {# keys}}`. */
export interface Plural {
  readonly plural: string;
  readonly forms: Readonly<Record<string, readonly Part[]>>;
}

/** Text inside of an element: `<link>the overview</link>`. */
export interface Tag {
  readonly tag: string;
  readonly inside: readonly Part[];
}

export type Part = string | Value | Plural | Tag;

const known = new Map<string, readonly Part[]>();

/**
 * Splits a text of the catalogue into its parts. The syntax is that part of ICU MessageFormat that the console uses:
 * values, plurals with `#` for their number, and tags. Throws if a brace or a tag is not closed.
 */
export function partsOf(text: string): readonly Part[] {
  const parts = known.get(text) ?? parse(text);
  known.set(text, parts);
  return parts;
}

function parse(text: string): readonly Part[] {
  const rest = { text, at: 0 };
  const parts = readParts(rest, undefined);
  if (rest.at < text.length) throw new Error(`“${text}” closes what it did not open`);
  return parts;
}

interface Rest {
  readonly text: string;
  at: number;
}

/** Reads up to a closing brace or tag, or to the end. `#` stands for the value `number`, if there is one. */
function readParts(rest: Rest, number: string | undefined): Part[] {
  const parts: Part[] = [];
  for (;;) {
    const words = take(rest, number === undefined ? /[^{}<]+|<(?!\/?[a-z])/y : /[^{}<#]+|<(?!\/?[a-z])/y);
    if (words) parts.push(words[0]);
    else if (number !== undefined && take(rest, /#/y)) parts.push({ value: number });
    else if (rest.text[rest.at] === '{') parts.push(readBraces(rest, number));
    else {
      const tag = take(rest, /<([a-z]\w*)>/iy)?.[1];
      if (tag === undefined) return parts;
      parts.push({ tag, inside: readParts(rest, number) });
      need(rest, new RegExp(`</${tag}>`, 'y'));
    }
  }
}

function readBraces(rest: Rest, outer: string | undefined): Value | Plural {
  const [, name = '', comma] = need(rest, /\{(\w+)(, plural,)?\s*/y);
  if (comma === undefined) {
    need(rest, /\}/y);
    return { value: name };
  }
  const forms: Record<string, readonly Part[]> = {};
  for (;;) {
    const form = take(rest, /\s*(\w+|=\d+) \{/y)?.[1];
    if (form === undefined) break;
    forms[form] = readParts(rest, name ?? outer);
    need(rest, /\}/y);
  }
  need(rest, /\s*\}/y);
  return { plural: name, forms };
}

function take(rest: Rest, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = rest.at;
  const found = pattern.exec(rest.text);
  if (found) rest.at = pattern.lastIndex;
  return found;
}

function need(rest: Rest, pattern: RegExp): RegExpExecArray {
  const found = take(rest, pattern);
  if (!found) throw new Error(`“${rest.text}” is not right at character ${rest.at + 1}`);
  return found;
}
