/** An authenticator in software (WebAuthn, ES256, no attestation). A test can make it misbehave. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

type Json = Readonly<Record<string, unknown>>;

export interface Misbehaviour {
  /** The origin of the site where the person uses the authenticator. */
  readonly origin?: string;
  readonly rpId?: string;
  /** True if the person gives no PIN, finger or face. */
  readonly isUnverified?: boolean;
  readonly challenge?: string;
  /** The counter of this answer. Default: one more than in the last answer. */
  readonly counter?: number;
  /** True to sign with another key than the registered one. */
  readonly isForged?: boolean;
}

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();

export class Authenticator {
  readonly #origin: string;
  readonly #id = randomBytes(16);
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  #counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Creates a credential. Takes creation options, and returns the authenticator's answer. */
  create(options: Json, how: Misbehaviour = {}) {
    const clientData = this.#clientData('webauthn.create', options, how);
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    const key = map([
      [int(1), int(2)],
      [int(3), int(-7)],
      [int(-1), int(1)],
      [int(-2), bytes(Buffer.from(x, 'base64url'))],
      [int(-3), bytes(Buffer.from(y, 'base64url'))],
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.#id.length);
    const credential = Buffer.concat([Buffer.alloc(16), length, this.#id, key]);
    const data = Buffer.concat([this.#head(HAS_CREDENTIAL, how), credential]);
    const attestation = map([
      [text('fmt'), text('none')],
      [text('attStmt'), map([])],
      [text('authData'), bytes(data)],
    ]);
    return this.#answer({
      clientDataJSON: clientData.toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** Signs a challenge. Takes request options, and returns the authenticator's answer. */
  get(options: Json, how: Misbehaviour = {}) {
    const clientData = this.#clientData('webauthn.get', options, how);
    const data = this.#head(0, how);
    const signed = Buffer.concat([data, sha256(clientData)]);
    const key: KeyObject = how.isForged
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
      : this.#keys.privateKey;
    return this.#answer({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: sign('sha256', signed, key).toString('base64url'),
    });
  }

  #answer(response: Json) {
    const id = this.#id.toString('base64url');
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #clientData(type: string, { challenge }: Json, how: Misbehaviour): Buffer {
    const origin = how.origin ?? this.#origin;
    return Buffer.from(
      JSON.stringify({ type, challenge: how.challenge ?? challenge, origin, crossOrigin: false }),
    );
  }

  #head(flags: number, how: Misbehaviour): Buffer {
    this.#counter = how.counter ?? this.#counter + 1;
    const rest = Buffer.alloc(5);
    rest.writeUInt8(flags | USER_PRESENT | (how.isUnverified ? 0 : USER_VERIFIED));
    rest.writeUInt32BE(this.#counter, 1);
    return Buffer.concat([sha256(how.rpId ?? new URL(this.#origin).hostname), rest]);
  }
}

/** Encodes CBOR (RFC 8949). Only the parts that WebAuthn needs here. */
function head(major: number, value: number): Buffer {
  if (value < 24) return Buffer.from([(major << 5) | value]);
  if (value < 256) return Buffer.from([(major << 5) | 24, value]);
  return Buffer.from([(major << 5) | 25, value >> 8, value & 255]);
}
const int = (value: number) => (value < 0 ? head(1, -1 - value) : head(0, value));
const bytes = (value: Buffer) => Buffer.concat([head(2, value.length), value]);
const text = (value: string) => Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
const map = (entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([head(5, entries.length), ...entries.flat()]);
