import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  timingSafeEqual,
} from 'node:crypto';
import type { OptOutPerson, OptOutTokens } from '../domain/ports/opt-out-tokens.ts';

/** The end of an account's id: 8 bytes in hexadecimal digits, such as `8f3a-0123456789ab`. */
const TAIL = /^[0-9a-f]{4}-[0-9a-f]{12}$/;
const TAIL_BYTES = 8;
/** One block of AES. Its 22 characters in base64url are short enough for an SMS. */
const SMS_BYTES = 16;
const IV_BYTES = 16;
/** The longest token of an email address is shorter. */
const MAX_LENGTH = 1_024;
/** Numbers have at most 15 digits (E.164). A block whose second half is greater was not made here. */
const NUMBERS = 10n ** 15n;

/**
 * Makes tokens with keys that HKDF derives from the master key. `previous` are the keys of MASTER_KEY_PREVIOUS, whose
 * tokens still open.
 *
 * A token of an SMS is one AES-256 block: 8 bytes of the account, 8 bytes of the number. Without the key, a guess names
 * an account that exists with a probability of 2^-78 for each account. A token of an email address has no fixed length,
 * so it is the address in AES-256-CTR under a synthetic IV: the HMAC-SHA-256 of account and address, cut to 16 bytes
 * (as in RFC 5297). It proves that the token was made here.
 */
export function createOptOutTokens(masterKey: Buffer, previous: readonly Buffer[] = []): OptOutTokens {
  const current = coderOf(masterKey);
  const coders = [current, ...previous.map(coderOf)];
  return {
    tokenOf: (person) => current.seal(person).toString('base64url'),
    open(token) {
      if (token.length > MAX_LENGTH) return [];
      const bytes = Buffer.from(token, 'base64url');
      // `Buffer.from` skips what is no base64url. Each person has one token only.
      if (bytes.toString('base64url') !== token) return [];
      return coders.flatMap((coder) => coder.open(bytes) ?? []);
    },
  };
}

function coderOf(masterKey: Buffer) {
  const derived = (what: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', `opt-out ${what}`, 32)));
  const [smsKey, ivKey, emailKey] = [derived('sms'), derived('email iv'), derived('email')];
  const ivOf = (plain: Buffer) => createHmac('sha256', ivKey).update(plain).digest().subarray(0, IV_BYTES);
  const block = (cipher: ReturnType<typeof createCipheriv | typeof createDecipheriv>, bytes: Buffer) =>
    Buffer.concat([cipher.setAutoPadding(false).update(bytes), cipher.final()]);

  function openSms(bytes: Buffer): OptOutPerson | undefined {
    const plain = block(createDecipheriv('aes-256-ecb', smsKey, null), bytes);
    const number = plain.readBigUInt64BE(TAIL_BYTES);
    if (number >= NUMBERS) return undefined;
    return { accountTail: tailOf(plain), channel: 'sms', address: `+${number}` };
  }

  function openEmail(bytes: Buffer): OptOutPerson | undefined {
    const iv = bytes.subarray(0, IV_BYTES);
    const plain = createDecipheriv('aes-256-ctr', emailKey, iv).update(bytes.subarray(IV_BYTES));
    if (!timingSafeEqual(ivOf(plain), iv)) return undefined;
    return { accountTail: tailOf(plain), channel: 'email', address: plain.toString('utf8', TAIL_BYTES) };
  }

  return {
    seal({ accountTail, channel, address }: OptOutPerson): Buffer {
      if (!TAIL.test(accountTail)) throw new Error(`no end of an account's id: ${accountTail}`);
      const tail = Buffer.from(accountTail.replace('-', ''), 'hex');
      if (channel === 'sms') {
        const number = Buffer.alloc(SMS_BYTES - TAIL_BYTES);
        number.writeBigUInt64BE(BigInt(address.slice(1)));
        return block(createCipheriv('aes-256-ecb', smsKey, null), Buffer.concat([tail, number]));
      }
      const plain = Buffer.concat([tail, Buffer.from(address)]);
      const iv = ivOf(plain);
      return Buffer.concat([iv, createCipheriv('aes-256-ctr', emailKey, iv).update(plain)]);
    },

    open(bytes: Buffer): OptOutPerson | undefined {
      if (bytes.length === SMS_BYTES) return openSms(bytes);
      return bytes.length > IV_BYTES + TAIL_BYTES ? openEmail(bytes) : undefined;
    },
  };
}

function tailOf(plain: Buffer): string {
  const hex = plain.toString('hex', 0, TAIL_BYTES);
  return `${hex.slice(0, 4)}-${hex.slice(4)}`;
}
