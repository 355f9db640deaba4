import { type FieldFault, validationError } from '../errors.ts';
import type { EmailAttachment, EmailBody } from '../ports/provider.ts';
import { quote } from '../text.ts';
import { isOneLine, listFault, mailboxText, parseAddresses, parseMailbox } from './email-address.ts';
import { checkEmailHeader } from './email-headers.ts';
import type { Message, Purpose } from './message.ts';
import { linkFault, type OptOutTerms, withBlankLinks, withUnsubscribe } from './opt-out.ts';

/** Longest subject, in UTF-16 code units. */
const EMAIL_SUBJECT_MAX_LENGTH = 998;
/** Largest numbers in one email: addresses in `cc`, addresses in `bcc`, headers, and attachments. */
const EMAIL_MAX_COPIES = 50;
const EMAIL_MAX_HEADERS = 50;
const EMAIL_MAX_ATTACHMENTS = 50;
/** Largest total size of all attachments of an email, in decoded bytes (R23). */
const EMAIL_MAX_ATTACHMENT_BYTES = 7 * 1024 * 1024;
/** Length of the part that lists show, in UTF-16 code units. The mail itself is stored whole. */
const PREVIEW_LENGTH = 10_000;
const FILENAME_MAX_LENGTH = 255;
const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

export interface EmailContentInput {
  readonly purpose?: Purpose | undefined;
  readonly subject: string;
  readonly text?: string | undefined;
  readonly html?: string | undefined;
  readonly from?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly cc?: string | readonly string[] | undefined;
  readonly bcc?: string | readonly string[] | undefined;
  /** May be any JSON, because GraphQL does not check it. `checkHeaders` checks it. */
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly attachments?:
    | readonly {
        readonly filename: string;
        readonly content: string;
        readonly contentType?: string | undefined;
      }[]
    | undefined;
}

/** The small parts of an email besides recipients and sender. The large parts are in `EmailBody`. */
export interface EmailPayload {
  readonly subject: string;
  readonly replyTo: string | null;
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** The domain that the mail is signed for, if it is not DKIM_DOMAIN (R435). */
  readonly dkimDomain?: string;
}

export interface EmailContent {
  readonly from: string;
  /** The part that lists show: the first 10,000 code units of the text, or of the HTML if there is no text. */
  readonly preview: string;
  readonly payload: EmailPayload;
  readonly body: EmailBody;
}

/**
 * Checks all fields of an email except `to` (R23), so that no field can add a header or a recipient. A marketing email
 * gets blank links (R440, R442). Throws `validation_error` with all faults, and `service_unavailable` if `publicUrl` is
 * undefined and a link needs it.
 */
export function checkEmailContent(
  input: EmailContentInput,
  defaultFrom: string,
  publicUrl: string | undefined,
): EmailContent {
  const faults: FieldFault[] = [];
  const fault = (path: string, message: string) => faults.push({ path, message });
  checkSubject(input.subject, fault);
  if (!input.text && !input.html) fault('text', 'give text or html, or both');
  const terms = { purpose: input.purpose, publicUrl };
  const payload = {
    subject: input.subject,
    replyTo: mailbox('replyTo', input.replyTo, fault) ?? null,
    cc: copies('cc', input.cc, fault),
    bcc: copies('bcc', input.bcc, fault),
    headers: checkHeaders(input.headers ?? {}, fault),
  };
  checkLinks({ text: input.text, html: input.html }, '', terms, fault);
  checkLinks(payload.headers, 'headers.', terms, fault);
  const from = mailbox('from', input.from, fault) ?? defaultFrom;
  const attachments = checkAttachments(input.attachments ?? [], fault);
  if (faults.length > 0) throw validationError(faults);
  const text = withBlankLinks(input.text ?? '', terms) || null;
  const html = withBlankLinks(input.html ?? '', terms) || null;
  return {
    from,
    preview: preview(text ?? html ?? ''),
    payload: { ...payload, headers: withUnsubscribe(payload.headers, terms) },
    body: { text, html, attachments },
  };
}

/** Returns the payload of an email message, as `checkEmailContent` made it. */
export function emailPayload(message: Pick<Message, 'payload'>): EmailPayload {
  return message.payload as unknown as EmailPayload;
}

type Fault = (path: string, message: string) => void;

function checkSubject(subject: string, fault: Fault): void {
  if (subject.trim() === '') fault('subject', 'must not be empty');
  if (subject.length > EMAIL_SUBJECT_MAX_LENGTH) {
    fault('subject', `must have at most ${EMAIL_SUBJECT_MAX_LENGTH} characters`);
  }
  if (!isOneLine(subject)) fault('subject', 'must be one line without control characters');
}

/** Refuses links of marketing messages in an email of another purpose (R440). */
function checkLinks(
  parts: Readonly<Record<string, string | undefined>>,
  prefix: string,
  terms: OptOutTerms,
  fault: Fault,
): void {
  for (const [name, text] of Object.entries(parts)) {
    const wrong = linkFault(text ?? '', terms);
    if (wrong !== undefined) fault(prefix + name, wrong);
  }
}

function mailbox(path: string, raw: string | undefined, fault: Fault): string | undefined {
  if (raw === undefined) return undefined;
  const parsed = parseMailbox(raw);
  if (!parsed) fault(path, 'must be one address, such as ann@example.com or "Ann" <ann@example.com>');
  return parsed && mailboxText(parsed);
}

/**
 * Checks the email addresses in `cc` or `bcc`. An invalid address refuses the whole email. In `to`, an invalid address
 * would only be skipped.
 */
function copies(path: string, list: string | readonly string[] = [], fault: Fault): readonly string[] {
  const wrong = listFault(list);
  if (wrong !== undefined) {
    fault(path, wrong);
    return [];
  }
  const { valid, invalid } = parseAddresses(list);
  if (invalid.length > 0) fault(path, `${quote(invalid[0] ?? '')} is not an email address`);
  if (valid.length > EMAIL_MAX_COPIES) fault(path, `at most ${EMAIL_MAX_COPIES} addresses`);
  return valid;
}

function checkHeaders(headers: Readonly<Record<string, unknown>>, fault: Fault): Record<string, string> {
  const entries = Object.entries(headers);
  const checked: [string, string][] = [];
  if (entries.length > EMAIL_MAX_HEADERS) fault('headers', `at most ${EMAIL_MAX_HEADERS} headers`);
  const seen = new Set<string>();
  for (const [name, value] of entries.slice(0, EMAIL_MAX_HEADERS)) {
    const path = `headers.${name}`;
    // Refuse lists and objects: mail libraries turn them into text in different ways, and the text may contain line
    // ends.
    if (typeof value !== 'string') {
      fault(path, 'must be text');
      continue;
    }
    const wrong = seen.has(name.toLowerCase()) ? 'is given twice' : checkEmailHeader(name, value);
    seen.add(name.toLowerCase());
    if (wrong !== undefined) fault(path, wrong);
    else checked.push([name, value]);
  }
  return Object.fromEntries(checked);
}

function checkAttachments(
  attachments: NonNullable<EmailContentInput['attachments']>,
  fault: Fault,
): EmailAttachment[] {
  if (attachments.length > EMAIL_MAX_ATTACHMENTS) fault('attachments', `at most ${EMAIL_MAX_ATTACHMENTS}`);
  let bytes = 0;
  const checked = attachments.slice(0, EMAIL_MAX_ATTACHMENTS).map((attachment, index) => {
    const { filename, content, contentType = DEFAULT_CONTENT_TYPE } = attachment;
    const path = `attachments.${index}`;
    if (!isFilename(filename))
      fault(`${path}.filename`, 'must be a file name of 1 to 255 characters, without path');
    if (!isContentType(contentType)) fault(`${path}.contentType`, 'must be a type such as application/pdf');
    if (!isBase64(content)) fault(`${path}.content`, 'must be base64, with padding and without line ends');
    bytes += Buffer.byteLength(content, 'base64');
    return { filename, contentType, content };
  });
  if (bytes > EMAIL_MAX_ATTACHMENT_BYTES) fault('attachments', 'must have at most 7 MiB together');
  return checked;
}

function isFilename(name: string): boolean {
  return (
    name.trim() !== '' && name.length <= FILENAME_MAX_LENGTH && isOneLine(name) && !/[/\\]|=\?/.test(name)
  );
}

/** Refuses the container types `multipart/…` and `message/…`, because they could hide further parts. */
function isContentType(type: string): boolean {
  const token = '[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}';
  const isType = new RegExp(`^${token}/${token}(; ?charset="?[A-Za-z0-9_-]{1,40}"?)?$`).test(type);
  return isType && !/^(multipart|message)\//i.test(type);
}

function isBase64(content: string): boolean {
  return content.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(content);
}

/** Cuts the text at `PREVIEW_LENGTH`. Drops half of a surrogate pair at the end. */
function preview(text: string): string {
  return text.slice(0, PREVIEW_LENGTH).replace(/[\ud800-\udbff]$/, '');
}
