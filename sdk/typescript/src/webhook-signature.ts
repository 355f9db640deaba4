import type { GatewayEvent } from './types.generated.ts';
import { bytesOf, hexOf, hmacKey, webCrypto } from './web-crypto.ts';

/** The headers of a request, in the form of any common framework. */
export type HeadersLike =
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far the signature's time may be from `now`, in seconds. Default: 300. */
  readonly toleranceSeconds?: number;
  /** The current time in ms since 1970. Default: `Date.now()`. */
  readonly now?: number;
}

/** An event whose signature was verified. */
export type VerifiedEvent = GatewayEvent & {
  /**
   * Id of the delivery, the same in every attempt. Ignore deliveries that you have handled. Null if the header is
   * missing. The signature does not cover it.
   */
  readonly deliveryId: string | null;
};

/** The request is not from the gateway, or its signature is too old. Answer 400 and do nothing. */
export class WebhookSignatureError extends Error {
  override readonly name = 'WebhookSignatureError';
}

const TOLERANCE_SECONDS = 300;
/** Maximum number of signature headers that are checked. The gateway sends one, or two while a secret is rotated. */
const SIGNATURES_MAX = 5;

/**
 * Returns the event of a webhook request, if `rawBody` was signed with `secret` at most 300 seconds ago. Any header of
 * the form `X-<name>-Signature` is accepted, because operators choose the name of their service. While a secret is
 * rotated with an overlap, the gateway signs with both, so either secret fits. Pass several secrets if there is no
 * overlap. The comparison takes constant time.
 * Throws a `WebhookSignatureError` that says what is wrong, or a `TypeError` if the body was already parsed.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: HeadersLike,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<VerifiedEvent> {
  const body = bodyOf(rawBody);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0 || secrets.some((each) => !each)) {
    throw new TypeError('The secret is missing: pass the whsec_… of the endpoint.');
  }
  const entries = entriesOf(headers);
  const signed = signaturesIn(entries);
  if (signed.length === 0) throw new WebhookSignatureError('There is no header X-…-Signature with t=…,v1=….');
  const { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() } = options;
  const fresh = signed.filter(({ t }) => Math.abs(Math.floor(now / 1000) - Number(t)) <= toleranceSeconds);
  if (fresh.length === 0) {
    throw new WebhookSignatureError(
      `The signature's time is more than ${toleranceSeconds} s away from this clock.`,
    );
  }
  for (const { t, v1, name } of fresh) {
    if (await isSigned(secrets, t, v1, body)) {
      return eventIn(body, entries.get(`x-${name.replace(/-previous$/, '')}-delivery`));
    }
  }
  throw new WebhookSignatureError('The signature does not fit the body and the secret.');
}

function bodyOf(rawBody: unknown): Uint8Array<ArrayBuffer> {
  if (typeof rawBody === 'string' || rawBody instanceof ArrayBuffer) return bytesOf(rawBody);
  if (ArrayBuffer.isView(rawBody)) return bytesOf(rawBody as Uint8Array);
  throw new TypeError(
    'The body was parsed before its signature was checked. Pass the raw bytes: with Express, express.raw({ type: "application/json" }).',
  );
}

/** Returns the headers by their lowercase name. */
function entriesOf(headers: HeadersLike): Map<string, string> {
  const found = new Map<string, string>();
  const keep = (name: string, value: string) => {
    found.set(name.toLowerCase(), value);
  };
  if (Symbol.iterator in headers) {
    for (const [name, value] of headers as Iterable<readonly [string, string]>) keep(name, value);
    return found;
  }
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) keep(name, typeof value === 'string' ? value : value.join());
  }
  return found;
}

interface Signature {
  readonly t: string;
  readonly v1: string;
  /** The service's name in the header, in lowercase. */
  readonly name: string;
}

function signaturesIn(entries: Map<string, string>): Signature[] {
  const found: Signature[] = [];
  for (const [header, value] of entries) {
    const [, name] = /^x-([a-z0-9-]{1,100})-signature$/.exec(header) ?? [];
    const [, t, v1] = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(value) ?? [];
    if (name !== undefined && t !== undefined && v1 !== undefined) found.push({ t, v1, name });
  }
  return found.slice(0, SIGNATURES_MAX);
}

async function isSigned(
  secrets: readonly string[],
  t: string,
  v1: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const { subtle } = await webCrypto();
  const signature = Uint8Array.from({ length: 32 }, (_, at) =>
    Number.parseInt(v1.slice(2 * at, 2 * at + 2), 16),
  );
  for (const secret of secrets) {
    // `subtle.verify` compares in constant time.
    if (await subtle.verify('HMAC', await hmacKey(secret), signature, signedBytes(t, body))) return true;
  }
  return false;
}

/** Returns the bytes that are signed: `<t>.<raw body>` (R155). */
function signedBytes(t: string, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const start = bytesOf(`${t}.`);
  const signed = new Uint8Array(start.length + body.length);
  signed.set(start);
  signed.set(body, start.length);
  return signed;
}

function eventIn(body: Uint8Array, deliveryId: string | undefined): VerifiedEvent {
  const event = JSON.parse(new TextDecoder().decode(body)) as GatewayEvent;
  return { ...event, deliveryId: deliveryId ?? null };
}

/**
 * Returns the signature header's value for a body, as the gateway makes it. Meant for tests of receivers. `now` is in
 * ms since 1970.
 */
export async function signWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  secret: string,
  now: number = Date.now(),
): Promise<string> {
  const { subtle } = await webCrypto();
  const t = String(Math.floor(now / 1000));
  const signature = await subtle.sign('HMAC', await hmacKey(secret), signedBytes(t, bytesOf(rawBody)));
  return `t=${t},v1=${hexOf(signature)}`;
}
