/** Converts a submission to the mail that nodemailer sends. */
import { parseMailbox } from '../../domain/messages/email-address.ts';
import type { EmailBody, EmailSubmission } from '../../domain/ports/provider.ts';

/**
 * Largest number of characters in one encoded word (RFC 2047). 10 characters have at most 40 bytes, which are 56
 * letters in base64. An encoded word may have 75 letters.
 */
const WORD_CHARACTERS = 10;

export type Mail = ReturnType<typeof mailOf>;

/**
 * Returns the mail without its envelope. Throws TypeError for a value that is not text: nodemailer would read an array
 * as several headers, and an object as instructions.
 */
export function mailOf(submission: EmailSubmission, body: EmailBody, messageId: string) {
  return {
    messageId,
    from: mailbox(submission.from),
    to: mailbox(submission.to),
    cc: submission.cc.map(mailbox),
    ...(submission.replyTo === undefined ? {} : { replyTo: mailbox(submission.replyTo) }),
    subject: literal(submission.subject, 'the subject'),
    ...(body.text === null ? {} : { text: asText(body.text, 'the text') }),
    ...(body.html === null ? {} : { html: asText(body.html, 'the HTML') }),
    headers: Object.entries(submission.headers).map(([key, value]) => ({
      key,
      value: literal(value, `the header ${key}`),
    })),
    attachments: body.attachments.map(({ filename, contentType, content }) => ({
      filename: asText(filename, 'the name of an attachment'),
      contentType: asText(contentType, 'the type of an attachment'),
      content: asText(content, 'an attachment'),
      encoding: 'base64',
      contentDisposition: 'attachment' as const,
    })),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/**
 * Encodes a text that looks as if it was encoded already. Then the reader sees exactly what the sender wrote, and
 * nothing can be hidden in it.
 */
function literal(value: string, what: string): string {
  const text = asText(value, what);
  if (!text.includes('=?')) return text;
  const words: string[] = [];
  for (let rest = Array.from(text); rest.length > 0; rest = rest.slice(WORD_CHARACTERS)) {
    const word = rest.slice(0, WORD_CHARACTERS).join('');
    words.push(`=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`);
  }
  return words.join(' ');
}

/** Returns name and email address separately, so that nodemailer does not parse the text again by its own rules. */
function mailbox(text: string): { name: string; address: string } {
  return parseMailbox(asText(text, 'an address')) ?? { name: '', address: text };
}

/** Throws if a value is not text. A stored value may have been written before its type was checked. */
function asText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new TypeError(`${what} of the mail is not text`);
  return value;
}
