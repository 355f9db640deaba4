import { type Argon2Parameters, argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { PasswordHasher } from '../domain/ports/system.ts';
import { Semaphore } from '../runtime/semaphore.ts';

const derive = promisify(argon2);
/** Memory in KiB, and passes over it. */
type Cost = Pick<Argon2Parameters, 'memory' | 'passes'>;
/** Cost of a new hash. It takes about 20 ms. */
const COST: Cost = { memory: 19_456, passes: 2 };

/** Number of hashes that run at the same time. Each takes 19 MiB and one of libuv's threads. */
const RUNNING_MAX = 4;

type Settings = Omit<Argon2Parameters, 'message'>;

/** Creates the hasher of passwords: argon2id, in PHC format: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
export function createPasswordHasher(cost = COST): PasswordHasher {
  const running = new Semaphore(RUNNING_MAX);
  return {
    get waiting() {
      return running.waiting;
    },

    async hash(password, like) {
      const settings =
        like === undefined
          ? { ...cost, parallelism: 1, tagLength: 32, nonce: randomBytes(16) }
          : settingsOf(like);
      const hash = await running.run(() => derive('argon2id', { message: password, ...settings }));
      const { memory, passes, parallelism, nonce } = settings;
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(nonce as Buffer)}$${encode(hash)}`;
    },
  };
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

function settingsOf(stored: string): Settings {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(stored);
  if (!match) throw new Error('a stored password hash is not one of argon2id');
  const [, memory, passes, parallelism, salt = '', hash = ''] = match;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: Buffer.from(hash, 'base64').length,
    nonce: Buffer.from(salt, 'base64'),
  };
}
