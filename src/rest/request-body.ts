import type { IncomingMessage } from 'node:http';
import { DomainError, validationError } from '../domain/errors.ts';

/** Deeper JSON is refused before it is parsed: recursive code must not meet it. */
const MAX_DEPTH = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The request's body as it came, which is what signatures are over. Throws `payload_too_large` as soon as it is
 * known to have more than `maxBytes`.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const declared = Number(request.headers['content-length']);
  const tooLarge = () =>
    new DomainError('payload_too_large', `The body has more than ${maxBytes} bytes.`, { maximum: maxBytes });
  if (declared > maxBytes) {
    request.resume();
    return Promise.reject(tooLarge());
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) {
        request.removeAllListeners('data');
        request.resume();
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => {
      if (!request.complete) reject(new DomainError('invalid_json', 'The body broke off before its end.'));
    });
  });
}

/**
 * Parses a JSON body (contract, "What the service does" 1). Throws `unsupported_media_type`, `invalid_json`, or
 * `validation_error` for text that cannot be stored as given (decision 5).
 */
export function parseJsonBody(request: IncomingMessage, raw: Buffer): unknown {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    throw new DomainError('unsupported_media_type', 'Send the body as JSON with Content-Type: application/json.');
  }
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity') {
    throw new DomainError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  if (raw.length === 0) throw new DomainError('invalid_json', 'The body is empty; a JSON object is expected.');
  let text: string;
  try {
    text = utf8.decode(raw);
  } catch {
    throw new DomainError('invalid_json', 'The body is not valid UTF-8.');
  }
  if (isTooDeep(text)) {
    throw new DomainError('invalid_json', `The body is nested deeper than ${MAX_DEPTH} levels.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the body.
    throw new DomainError('invalid_json', 'The body is not valid JSON.');
  }
  if (text.includes('\\u') || text.includes('\\U')) checkText(value, '');
  return value;
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isInString) {
      if (code === 92) index += 1;
      else if (code === 34) isInString = false;
    } else if (code === 34) {
      isInString = true;
    } else if (code === 91 || code === 123) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (code === 93 || code === 125) {
      depth -= 1;
    }
  }
  return false;
}

/** Only escapes can bring U+0000 or a lone surrogate into text that was valid UTF-8. */
function checkText(value: unknown, path: string): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw validationError([{ path, message: 'must not contain U+0000' }]);
    if (!value.isWellFormed()) {
      throw validationError([{ path, message: 'contains half of a surrogate pair, which is no valid Unicode' }]);
    }
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => checkText(item, path === '' ? String(index) : `${path}.${index}`));
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      checkText(name, path);
      checkText(member, path === '' ? name : `${path}.${name}`);
    }
  }
}
