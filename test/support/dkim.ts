/** Verifies DKIM signatures (RFC 6376) as a receiving mail server does. It shares no code with the signer. */
import { createHash, createPublicKey, verify } from 'node:crypto';

interface Field {
  readonly name: string;
  /** The header field as received: with its folds, and without its last line end. */
  readonly text: string;
}

/**
 * Returns the fault of a mail's only signature. Undefined if the signature is valid. `record` is the TXT record of the
 * key.
 */
export function dkimFault(raw: string, record: string): string | undefined {
  const end = raw.indexOf('\r\n\r\n');
  const fields = fieldsOf(raw.slice(0, end));
  const signatures = fields.filter(({ name }) => name === 'dkim-signature');
  const [signature] = signatures;
  if (!signature || signatures.length > 1) return `there are ${signatures.length} signatures`;
  const tags = tagsOf(signature.text.slice(signature.text.indexOf(':') + 1));
  if (tags.v !== '1' || tags.a !== 'rsa-sha256' || tags.c !== 'relaxed/relaxed') return 'of another kind';
  if (tags.l !== undefined) return 'it signs a part of the body only';

  const body = relaxedBody(raw.slice(end + 4));
  if (createHash('sha256').update(body, 'utf8').digest('base64') !== tags.bh) return 'the body was changed';

  const signed = (tags.h ?? '').split(':').map((name) => name.trim().toLowerCase());
  if (!signed.includes('from')) return 'it does not sign From';
  const left = [...fields];
  const lines = signed.flatMap((name) => {
    const at = left.findLastIndex((field) => field.name === name);
    return at < 0 ? [] : left.splice(at, 1).map(relaxedField);
  });
  // The signature covers its own header field, without the value of `b=` and without the line end.
  const own = relaxedField({ ...signature, text: signature.text.replace(/([;\s]b=)[^;]*/, '$1') });
  const key = tagsOf(record);
  if (key.v !== 'DKIM1' || key.k !== 'rsa' || !key.p) return 'the record is none';
  const publicKey = createPublicKey({ key: Buffer.from(key.p, 'base64'), format: 'der', type: 'spki' });
  const data = Buffer.from(lines.map((line) => `${line}\r\n`).join('') + own);
  const holds = verify('sha256', data, publicKey, Buffer.from(tags.b ?? '', 'base64'));
  return holds ? undefined : 'the headers were changed, or another key signed';
}

/** Returns the tags of a signature or of a TXT record. */
export function tagsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text
      .split(';')
      .map((tag) => tag.split(/=(.*)/s).map((part) => part.replace(/\s+/g, '')))
      .filter(([name]) => name !== ''),
  );
}

function fieldsOf(head: string): Field[] {
  return head
    .split(/\r\n(?![ \t])/)
    .map((text) => ({ name: text.slice(0, text.indexOf(':')).trim().toLowerCase(), text }));
}

/** Relaxed canonicalization of a header field (RFC 6376, 3.4.2). */
function relaxedField({ name, text }: Field): string {
  const value = text
    .slice(text.indexOf(':') + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim();
  return `${name}:${value}`;
}

/** Relaxed canonicalization of a body (RFC 6376, 3.4.4). */
function relaxedBody(body: string): string {
  const lines = body.split('\r\n').map((line) => line.replace(/[ \t]+/g, ' ').replace(/ $/, ''));
  while (lines.at(-1) === '') lines.pop();
  return lines.map((line) => `${line}\r\n`).join('');
}
