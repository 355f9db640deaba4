type WebCrypto = typeof globalThis.crypto;
/** The type of an HMAC key. It is derived here, because the types of Node.js and of browsers name it differently. */
export type HmacKey = Awaited<ReturnType<WebCrypto['subtle']['importKey']>>;

let found: Promise<WebCrypto> | undefined;

/** Returns WebCrypto. In Node.js 18 it is not a global but in the module `node:crypto`. */
export function webCrypto(): Promise<WebCrypto> {
  found ??= globalThis.crypto ? Promise.resolve(globalThis.crypto) : fromNode();
  return found;
}

async function fromNode(): Promise<WebCrypto> {
  // A variable as module name hides the import from bundlers for browsers, which have no such module.
  const name = 'node:crypto';
  const { webcrypto } = (await import(name)) as { webcrypto: WebCrypto };
  return webcrypto;
}

const encoder = new TextEncoder();

/** Returns the UTF-8 bytes of a text. Bytes are returned as they are. */
export function bytesOf(value: string | Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (typeof value === 'string') return encoder.encode(value);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(value);
}

/** Returns the bytes as lowercase hexadecimal digits. */
export function hexOf(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Imports a key for HMAC-SHA-256. Its bytes are the UTF-8 of the whole secret, with its prefix. */
export async function hmacKey(secret: string): Promise<HmacKey> {
  const { subtle } = await webCrypto();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return subtle.importKey('raw', bytesOf(secret), algorithm, false, ['sign', 'verify']);
}
