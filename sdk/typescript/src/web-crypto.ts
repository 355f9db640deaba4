type WebCrypto = typeof globalThis.crypto;
/** Under a name that the types of Node and of browsers share. */
export type HmacKey = Awaited<ReturnType<WebCrypto['subtle']['importKey']>>;

let found: Promise<WebCrypto> | undefined;

/** WebCrypto, which Node 18 has in a module only. */
export function webCrypto(): Promise<WebCrypto> {
  found ??= globalThis.crypto ? Promise.resolve(globalThis.crypto) : fromNode();
  return found;
}

async function fromNode(): Promise<WebCrypto> {
  // In a variable, so that bundlers for browsers do not look for it.
  const name = 'node:crypto';
  const { webcrypto } = (await import(name)) as { webcrypto: WebCrypto };
  return webcrypto;
}

const encoder = new TextEncoder();

/** UTF-8 of a text; bytes as they are. */
export function bytesOf(value: string | Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (typeof value === 'string') return encoder.encode(value);
  return value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(value);
}

/** Lowercase hexadecimal digits. */
export function hexOf(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The key of an HMAC-SHA-256: the UTF-8 of the whole secret as given. */
export async function hmacKey(secret: string): Promise<HmacKey> {
  const { subtle } = await webCrypto();
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return subtle.importKey('raw', bytesOf(secret), algorithm, false, ['sign', 'verify']);
}
