/**
 * Reads bounces (delivery status notifications, RFC 3464) and complaints (abuse reports, RFC 5965). Both are
 * `multipart/report` (RFC 6522), so that nothing else of MIME is needed: no text and no attachment is decoded. Anybody
 * can send such a mail. So all work is linear in its size.
 */
import type { MailReport } from '../../domain/ports/return-paths.ts';

/** A forwarder or a virus scanner may have put the report into another mail. */
const MAX_DEPTH = 4;
const MAX_PARTS = 50;
/** Longest value of a field, in characters. The rest is cut off. */
const MAX_VALUE = 2_000;
/** Number of failures in one bounce. A mail to one recipient has one, or some after it was spread to a list. */
const MAX_GROUPS = 50;

type Fields = ReadonlyMap<string, string>;
interface Part {
  readonly type: string;
  readonly fields: Fields;
  readonly lines: readonly string[];
}

/**
 * Returns what a mail says about a mail that the gateway sent. Undefined if it is no report, or one that changes
 * nothing, such as a delay, an automatic reply, or a person's word that a mail is no spam.
 */
export function readReport(raw: string): MailReport | undefined {
  const parts = partsOf(raw.split(/\r?\n/));
  const status = parts.find(({ type }) => /^message\/(global-)?delivery-status$/.test(type));
  if (status) return bounceOf(status);
  const feedback = parts.find(({ type }) => type === 'message/feedback-report');
  return feedback && complaintOf(feedback);
}

/** Returns the parts of a mail that have no parts themselves, in their order. */
function partsOf(mail: readonly string[]): readonly Part[] {
  const found: Part[] = [];
  let count = 0;
  const read = (lines: readonly string[], depth: number) => {
    count += 1;
    if (count > MAX_PARTS) return;
    const { fields, body } = splitHead(lines);
    const [type, boundary] = contentTypeOf(fields);
    if (boundary === undefined) found.push({ type, fields, lines: body });
    else if (depth < MAX_DEPTH) for (const part of splitAt(boundary, body)) read(part, depth + 1);
  };
  read(mail, 0);
  return found;
}

function splitHead(lines: readonly string[]): { readonly fields: Fields; readonly body: readonly string[] } {
  const end = lines.indexOf('');
  if (end < 0) return { fields: fieldsOf(lines), body: [] };
  return { fields: fieldsOf(lines.slice(0, end)), body: lines.slice(end + 1) };
}

/** Returns the fields of a head by their names in lower case. Of equal names, the first field counts. */
function fieldsOf(lines: readonly string[]): Fields {
  const fields = new Map<string, string>();
  let last: string | undefined;
  for (const line of lines) {
    if (/^[ \t]/.test(line)) {
      const value = last === undefined ? undefined : fields.get(last);
      if (last !== undefined && value !== undefined && value.length < MAX_VALUE)
        fields.set(last, `${value} ${line.slice(0, MAX_VALUE).trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    const name = colon > 0 && colon < MAX_VALUE ? line.slice(0, colon).trim().toLowerCase() : undefined;
    // The lines that continue a repeated field belong to no field.
    last = name !== undefined && !fields.has(name) ? name : undefined;
    if (last !== undefined) fields.set(last, line.slice(colon + 1, colon + 1 + MAX_VALUE).trim());
  }
  return fields;
}

/** Returns the type in lower case, and the boundary of a multipart. */
function contentTypeOf(fields: Fields): readonly [type: string, boundary: string | undefined] {
  const value = fields.get('content-type') ?? 'text/plain';
  const type = value.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (!type.startsWith('multipart/')) return [type, undefined];
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))/i.exec(value) ?? [];
  return [type, quoted ?? plain];
}

function splitAt(boundary: string, lines: readonly string[]): readonly (readonly string[])[] {
  const delimiter = `--${boundary}`;
  const parts: (readonly string[])[] = [];
  let start: number | undefined;
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith(delimiter)) continue;
    const rest = line.slice(delimiter.length).trimEnd();
    if (rest !== '' && rest !== '--') continue;
    if (start !== undefined) parts.push(lines.slice(start, index));
    start = rest === '' ? index + 1 : undefined;
    if (rest === '--' || parts.length >= MAX_PARTS) break;
  }
  // Some mail servers cut a long bounce, and with it the last delimiter.
  if (start !== undefined) parts.push(lines.slice(start));
  return parts;
}

/** Returns the lines of a part without their transfer encoding. */
function decoded({ fields, lines }: Part): readonly string[] {
  const encoding = fields.get('content-transfer-encoding')?.toLowerCase();
  if (encoding === 'base64') return Buffer.from(lines.join(''), 'base64').toString().split(/\r?\n/);
  if (encoding !== 'quoted-printable') return lines;
  return lines
    .join('\n')
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .split('\n');
}

/** Returns the groups of fields of a report. Empty lines are between them. */
function groupsOf(part: Part): readonly Fields[] {
  const groups: Fields[] = [];
  let group: string[] = [];
  for (const line of [...decoded(part), '']) {
    if (line.trim() !== '') group.push(line);
    else if (group.length > 0 && groups.length <= MAX_GROUPS) {
      groups.push(fieldsOf(group));
      group = [];
    }
  }
  return groups;
}

/** Returns the bounce if the mail reached nobody. The groups of recipients are those with an action. */
function bounceOf(part: Part): MailReport | undefined {
  const recipients = groupsOf(part).filter((group) => group.has('action'));
  const [failure, ...others] = recipients;
  const hasFailed = (group: Fields) => /^failed(?![^\s(;])/i.test(group.get('action') ?? '');
  // Of a list, some may have the mail.
  if (!failure || ![failure, ...others].every(hasFailed)) return undefined;
  const words = wordsOf(failure.get('diagnostic-code'));
  return {
    kind: 'bounce',
    status: statusOf(failure.get('status'), words),
    words,
    address: addressOf(failure.get('final-recipient')),
  };
}

/** Returns the enhanced status code. Some mail servers write `5.0.0` and say the right one in their words. */
function statusOf(status = '', words = ''): string {
  const [code = '5.0.0'] = /^[245]\.\d{1,3}\.\d{1,3}(?!\d)/.exec(status) ?? [];
  const [, said] = /^[45]\d\d[ -]([45]\.\d{1,3}\.\d{1,3})(?!\d)/.exec(words) ?? [];
  return code.endsWith('.0.0') ? (said ?? code) : code;
}

/** Returns the words of `smtp; 550 5.1.1 No such user`. */
function wordsOf(diagnostic: string | undefined): string | undefined {
  const words = diagnostic
    ?.replace(/^[a-z0-9-]{1,30}\s?;/i, '')
    .replace(/\s+/g, ' ')
    .trim();
  return words === '' ? undefined : words;
}

/** Returns the address of `rfc822; <ann@example.com>`. */
function addressOf(recipient: string | undefined): string | undefined {
  const [, address] = /^[a-z0-9-]{1,30}\s?;\s?<?([^\s<>]{1,320})>?/i.exec(recipient ?? '') ?? [];
  return address;
}

/** Complaints of the type `abuse` count. The others say that a mail is no spam, or are about its authentication. */
function complaintOf(part: Part): MailReport | undefined {
  const type = groupsOf(part)[0]?.get('feedback-type')?.toLowerCase();
  return type === 'abuse' ? { kind: 'complaint' } : undefined;
}
