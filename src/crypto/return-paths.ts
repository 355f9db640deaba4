import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { ReturnPaths, SentMail } from '../domain/ports/return-paths.ts';

/** Base32 in lower case (RFC 4648): some mail servers change the case of addresses. */
const DIGITS = 'abcdefghijklmnopqrstuvwxyz234567';
const DIGIT_BITS = 5;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const UUID_BYTES = 16;
/** The id of the message, its position in two bytes, and whether the mail carries the copies. */
const NAME_BYTES = UUID_BYTES + 3;
/** 88 bits: nobody can guess them over the network. The token has 48 characters then, and the local part 55 of 64. */
const MAC_BYTES = 11;
const TOKEN = '[a-z2-7]{48}';
/** Of a text with many addresses only this many are checked. */
const MAX_CHECKED = 20;

/**
 * Makes the return paths `bounce+TOKEN@domain`. A token is what names the mail, with an HMAC-SHA-256 under a key that
 * HKDF derives from the master key. `previous` are the keys of MASTER_KEY_PREVIOUS, whose addresses still count. The
 * name of the mail is readable, as it is in the Message-ID of each mail.
 */
export function createReturnPaths(
  domain: string,
  masterKey: Buffer,
  previous: readonly Buffer[] = [],
): ReturnPaths {
  const macs = [masterKey, ...previous].map(macOf);
  const pattern = `bounce\\+(${TOKEN})@${domain.replaceAll('.', '\\.')}`;
  const whole = new RegExp(`^${pattern}$`, 'i');
  const within = new RegExp(`\\b${pattern}(?![a-z0-9.-])`, 'gi');

  function opened(token: string): SentMail | undefined {
    const bytes = decode(token.toLowerCase());
    const name = bytes.subarray(0, NAME_BYTES);
    const isGenuine = macs.some((mac) => timingSafeEqual(mac(name), bytes.subarray(NAME_BYTES)));
    return isGenuine ? mailOf(name) : undefined;
  }

  return {
    addressOf(mail) {
      const name = nameOf(mail);
      const [mac] = macs;
      return `bounce+${encode(Buffer.concat([name, mac?.(name) ?? Buffer.alloc(0)]))}@${domain}`;
    },
    open(address) {
      const token = whole.exec(address)?.[1];
      return token === undefined ? undefined : opened(token);
    },
    find(text) {
      let checked = 0;
      for (const [, token = ''] of text.matchAll(within)) {
        const mail = opened(token);
        if (mail) return mail;
        checked += 1;
        if (checked === MAX_CHECKED) return undefined;
      }
      return undefined;
    },
  };
}

function macOf(masterKey: Buffer): (name: Buffer) => Buffer {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', 'return path', 32)));
  return (name) => createHmac('sha256', key).update(name).digest().subarray(0, MAC_BYTES);
}

function nameOf({ messageId, position, isCopy }: SentMail): Buffer {
  if (!UUID.test(messageId)) throw new Error(`no id of a message: ${messageId}`);
  const name = Buffer.alloc(NAME_BYTES);
  name.write(messageId.replaceAll('-', ''), 'hex');
  name.writeUInt16BE(position, UUID_BYTES);
  name.writeUInt8(isCopy ? 1 : 0, UUID_BYTES + 2);
  return name;
}

function mailOf(name: Buffer): SentMail {
  const hex = name.toString('hex', 0, UUID_BYTES);
  return {
    messageId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    position: name.readUInt16BE(UUID_BYTES),
    isCopy: name.readUInt8(UUID_BYTES + 2) === 1,
  };
}

function encode(bytes: Buffer): string {
  let bits = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let left = bytes.length * 8; left > 0; left -= DIGIT_BITS) {
    text = `${DIGITS[Number(bits & 31n)]}${text}`;
    bits >>= BigInt(DIGIT_BITS);
  }
  return text;
}

function decode(text: string): Buffer {
  let bits = 0n;
  for (const digit of text) bits = (bits << BigInt(DIGIT_BITS)) | BigInt(DIGITS.indexOf(digit));
  const length = (text.length * DIGIT_BITS) / 8;
  return Buffer.from(bits.toString(16).padStart(length * 2, '0'), 'hex');
}
