import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { PasswordHasher } from '../domain/ports/system.ts';

const derive = promisify(argon2);
/** 19 MiB and two passes, one lane: about 20 ms. */
const COST = { parallelism: 1, memory: 19_456, passes: 2, tagLength: 32 };

function parameters(password: string, nonce: Buffer, cost: typeof COST): Argon2Parameters {
  return { message: password, nonce, ...cost };
}

/** argon2id, stored in the usual PHC form `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
export const passwordHasher: PasswordHasher = {
  async hash(password) {
    const nonce = randomBytes(16);
    const hash = await derive('argon2id', parameters(password, nonce, COST));
    const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
    return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${encode(nonce)}$${encode(hash)}`;
  },
  async verify(stored, password) {
    const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored);
    if (!match) return false;
    const [, memory, passes, parallelism, salt, hash] = match;
    const expected = Buffer.from(hash ?? '', 'base64');
    const cost = {
      memory: Number(memory),
      passes: Number(passes),
      parallelism: Number(parallelism),
      tagLength: expected.length,
    };
    const actual = await derive('argon2id', parameters(password, Buffer.from(salt ?? '', 'base64'), cost));
    return timingSafeEqual(actual, expected);
  },
};
