import type { IncomingMessage } from 'node:http';
import { DomainError, payloadTooLarge } from '../../domain/errors.ts';

/**
 * Greatest depth of nested JSON, in levels. Deeper JSON is refused before it is parsed, because recursive code could
 * overflow the stack.
 */
const MAX_DEPTH = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the raw bytes of the body, which signatures cover. If the body exceeds `maxBytes`, throws `payload_too_large`
 * at once and leaves the rest unread.
 */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => payloadTooLarge(maxBytes);
  const brokenOff = () => new DomainError('invalid_json', 'The body ended too early.');
  if (Number(request.headers['content-length']) > maxBytes) return Promise.reject(tooLarge());
  if (request.destroyed) return Promise.reject(brokenOff());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) {
        request.off('data', onData);
        request.pause();
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    };
    request.on('data', onData);
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', () => reject(brokenOff()));
    request.on('close', () => {
      if (!request.complete) reject(brokenOff());
    });
  });
}

/**
 * Returns the body if all of it has arrived. Most small bodies have arrived at this moment. Otherwise returns
 * undefined. Then the caller uses `readBody`, which waits for the body or refuses it.
 */
export function bufferedBody(request: IncomingMessage, maxBytes: number): Buffer | undefined {
  const length = Number(request.headers['content-length']);
  if (request.readableLength !== length || length > maxBytes || request.destroyed) return undefined;
  return request.read() ?? Buffer.alloc(0);
}

/** Parses a JSON body (R35). Throws `unsupported_media_type` or `invalid_json`. The messages never quote the body. */
export function parseJsonBody(request: IncomingMessage, raw: Buffer): unknown {
  if (!isMedia('application/json', request.headers['content-type'])) {
    const message = 'Send the body as JSON in UTF-8 with Content-Type: application/json.';
    throw new DomainError('unsupported_media_type', message);
  }
  refuseEncoded(request);
  if (raw.length === 0) throw invalidJson('is empty; a JSON object is expected');
  const text = textOf(raw);
  if (isTooDeep(text)) throw invalidJson(`is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(text);
  } catch {
    // Do not pass on the parser's message: it quotes the body.
    throw invalidJson('is not valid JSON');
  }
}

/** Returns the text of a CSV body. Undefined if the body is of another media type. Throws like `parseJsonBody`. */
export function csvBody(request: IncomingMessage, raw: Buffer): string | undefined {
  if (!isMedia('text/csv', request.headers['content-type'])) return undefined;
  refuseEncoded(request);
  return textOf(raw);
}

function refuseEncoded(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  if (encoding === undefined || encoding === '' || encoding === 'identity') return;
  throw new DomainError('unsupported_media_type', 'Send the body without a Content-Encoding.');
}

function textOf(raw: Buffer): string {
  try {
    return utf8.decode(raw);
  } catch {
    throw invalidJson('is not valid UTF-8');
  }
}

const invalidJson = (fault: string) => new DomainError('invalid_json', `The body ${fault}.`);

/** True if the content type is `media`. The only charset that it may name is UTF-8. */
function isMedia(media: string, contentType = ''): boolean {
  if (contentType === media) return true;
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  return type === media && (charset === undefined || /^(utf-?8|"utf-?8")$/.test(charset));
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
