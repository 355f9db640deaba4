/**
 * Parses email addresses in a narrower form than RFC 5322. It refuses groups, comments, routes, quoted local parts, IP
 * addresses as domains, and control characters, because they can add hidden recipients or headers.
 *
 * **Address**: an email address `local@domain`, with the domain in lower-case ASCII. **Mailbox**: an address, with or
 * without the name of a person.
 */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/**
 * The part before the @. It excludes `!`, `%` and `|`: old mail servers read them as instructions to forward the mail.
 * It also excludes encoded words (`=?`).
 */
const LOCAL_PART = /^(?!.*=\?)[A-Za-z0-9#$&'*+/=?^_{}~-]+(\.[A-Za-z0-9#$&'*+/=?^_{}~-]+)*$/;
const LOCAL_MAX = 64;
const DOMAIN_MAX = 253;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const NAME_MAX = 200;
/**
 * Length of the longest mailbox: a name with an escape before each character, and an address. A longer text is refused
 * without parsing.
 */
const MAILBOX_MAX = 2 * NAME_MAX + LOCAL_MAX + DOMAIN_MAX + 10;
/** Control characters, invisible line separators, and marks that change the writing direction. */
const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** True if `text` can be the value of a header: it has no line ends and no other control characters. */
export function isOneLine(text: string): boolean {
  return !CONTROL.test(text);
}

/**
 * Parses an email address `local@domain` and converts an international domain to ASCII. Returns undefined for anything
 * else.
 */
export function parseEmailAddress(raw: string): string | undefined {
  const text = raw.trim();
  if (text.length > LOCAL_MAX + 1 + DOMAIN_MAX) return undefined;
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  if (at < 1 || local.length > LOCAL_MAX || !LOCAL_PART.test(local)) return undefined;
  const domain = parseDomain(text.slice(at + 1));
  return domain === undefined ? undefined : `${local}@${domain}`;
}

/**
 * Parses an email address alone, or `Name <address>` with the name in double quotes or without. Returns undefined for
 * anything else.
 */
export function parseMailbox(raw: string): Mailbox | undefined {
  const text = raw.trim();
  if (text.length > MAILBOX_MAX) return undefined;
  if (!text.endsWith('>')) {
    const address = parseEmailAddress(text);
    return address === undefined ? undefined : { name: '', address };
  }
  const open = text.lastIndexOf('<');
  const address = open < 0 ? undefined : parseEmailAddress(text.slice(open + 1, -1));
  const name = open < 0 ? undefined : parseName(text.slice(0, open).trim());
  return address === undefined || name === undefined ? undefined : { name, address };
}

/** Writes a mailbox as text. It is the inverse of `parseMailbox`. */
export function mailboxText({ name, address }: Mailbox): string {
  if (name === '') return address;
  return `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`;
}

/**
 * Largest size of a list of email addresses, in UTF-16 code units and in elements. A longer list is refused without
 * parsing.
 */
const LIST_MAX_LENGTH = 100_000;
const LIST_MAX_ELEMENTS = 1_000;

/** Returns why a list of email addresses is too long. Undefined if it is not (R207). */
export function listFault(list: string | readonly string[]): string | undefined {
  if (typeof list === 'string' && list.length > LIST_MAX_LENGTH) {
    return `must have at most ${LIST_MAX_LENGTH} characters`;
  }
  // The length alone is not enough: parsing an email address takes 150 times as long as skipping its characters.
  const elements = typeof list === 'string' ? list.split(',').length : list.length;
  return elements > LIST_MAX_ELEMENTS ? `must have at most ${LIST_MAX_ELEMENTS} elements` : undefined;
}

/** Splits a text at its commas outside quotes. Trims the elements of a text or list, and drops empty ones. */
export function splitAddresses(list: string | readonly string[]): string[] {
  const elements = typeof list === 'string' ? splitAtCommas(list) : list;
  return elements.map((element) => element.trim()).filter((element) => element !== '');
}

function splitAtCommas(text: string): string[] {
  const elements: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let index = 0; index < text.length; index++) {
    const char = text[index];
    if (char === '"') isQuoted = !isQuoted;
    else if (char === '\\' && isQuoted) index += 1;
    else if (char === ',' && !isQuoted) {
      elements.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...elements, text.slice(start)];
}

/**
 * Parses a list of email addresses. `valid` has each address once, ignoring case. `invalid` has the elements that are
 * no email address.
 */
export function parseAddresses(list: string | readonly string[]): {
  readonly valid: readonly string[];
  readonly invalid: readonly string[];
  readonly duplicatesRemoved: number;
} {
  const valid = new Map<string, string>();
  const invalid: string[] = [];
  let duplicatesRemoved = 0;
  for (const element of splitAddresses(list)) {
    const address = parseMailbox(element)?.address;
    if (address === undefined) invalid.push(element);
    else if (valid.has(address.toLowerCase())) duplicatesRemoved += 1;
    else valid.set(address.toLowerCase(), address);
  }
  return { valid: [...valid.values()], invalid, duplicatesRemoved };
}

function parseName(text: string): string | undefined {
  const isQuoted = text.length >= 2 && text.startsWith('"') && text.endsWith('"');
  const name = isQuoted ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text;
  const isClean = isQuoted ? /^(?:[^"\\]|\\.)*$/.test(text.slice(1, -1)) : !/[<>@,;:"\\]/.test(name);
  // Refuse encoded words (`=?`). Some mail readers decode them even inside quotes, so they could hide an email address.
  return isClean && name.length <= NAME_MAX && isOneLine(name) && !name.includes('=?') ? name : undefined;
}

function parseDomain(raw: string): string | undefined {
  // `URL` converts international names to ASCII. It is not used for ASCII names, because it would turn a plain number
  // into an IP address.
  const isAscii = /^[\x21-\x7e]*$/.test(raw);
  const domain = isAscii
    ? raw.toLowerCase()
    : URL.parse(`http://${raw.replace(/[\s\p{Cc}/\\?#@:[\]]/gu, ' ')}`)?.hostname;
  if (domain === undefined || domain.length > DOMAIN_MAX) return undefined;
  const labels = domain.split('.');
  const isNamed = labels.length > 1 || domain === 'localhost';
  const isNumeric = /^[0-9]+$/.test(labels.at(-1) ?? '');
  return isNamed && !isNumeric && labels.every((label) => LABEL.test(label)) ? domain : undefined;
}
