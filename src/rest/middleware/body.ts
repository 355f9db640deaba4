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
  if (!isJson(request.headers['content-type'])) {
    const message = 'Send the body as JSON in UTF-8 with Content-Type: application/json.';
    throw new DomainError('unsupported_media_type', message);
  }
  const encoding = request.headers['content-encoding']?.trim().toLowerCase();
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity') {
    throw new DomainError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  if (raw.length === 0) throw invalidJson('is empty; a JSON object is expected');
  let text: string;
  try {
    text = utf8.decode(raw);
  } catch {
    throw invalidJson('is not valid UTF-8');
  }
  if (isTooDeep(text)) throw invalidJson(`is nested deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(text);
  } catch {
    // Do not pass on the parser's message: it quotes the body.
    throw invalidJson('is not valid JSON');
  }
}

const invalidJson = (fault: string) => new DomainError('invalid_json', `The body ${fault}.`);

/** True if the content type is JSON. The only charset that it may name is UTF-8. */
function isJson(contentType = ''): boolean {
  if (contentType === 'application/json') return true;
  const [type, ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  return type === 'application/json' && (charset === undefined || /^(utf-?8|"utf-?8")$/.test(charset));
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
