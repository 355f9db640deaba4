import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { AddressHashes } from '../domain/ports/address-hashes.ts';
import type { ErasureStore } from '../domain/ports/erasure-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { SecretBox } from '../domain/ports/system.ts';
import { sealedUnder } from './secret-box.ts';

const KEY_BYTES = 32;
/** 132 bits: two addresses of an account never share a hash. */
const HASH_LENGTH = 22;

interface Parts {
  readonly store: Pick<ErasureStore, 'hashKey' | 'addHashKey' | 'replaceHashKey'>;
  readonly secrets: SecretBox;
  readonly lostMasterKeys: readonly string[];
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Hashes addresses with HMAC-SHA-256. The key is random, so that it stays the same when the master key is rotated, and
 * is stored sealed with the master key. Without it, the hash of a phone number would be found by trying all numbers.
 */
export class KeyedAddressHashes implements AddressHashes {
  readonly #parts: Parts;
  #key: KeyObject | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Runs when the process starts. Seals an existing key anew if the master key was rotated. If its master key is declared
   * lost, makes a new key: suppressions of erased people are not recognised any more then.
   */
  async start(): Promise<void> {
    const { store, secrets, lostMasterKeys, logger } = this.#parts;
    const sealed = await store.hashKey();
    if (sealed === undefined) return;
    const sealedWith = sealedUnder(sealed);
    if (lostMasterKeys.includes(sealedWith)) {
      logger.warn(
        { masterKey: sealedWith },
        'the key of address hashes is lost with its master key: suppressions of erased people no longer hold',
      );
      await store.replaceHashKey(sealed, secrets.seal(newKey()));
    } else if (sealedWith !== sealedUnder(secrets.seal(''))) {
      const key = this.#open(sealed);
      if (key !== undefined) await store.replaceHashKey(sealed, secrets.seal(key));
    }
  }

  async load(): Promise<void> {
    const { store, secrets } = this.#parts;
    if (await this.#read()) return;
    await store.addHashKey(secrets.seal(newKey()));
    if (!(await this.#read())) throw new Error('the key of address hashes was not stored');
  }

  of(accountId: string, address: string): string {
    if (!this.#key) throw new Error('the key of address hashes is not loaded');
    const hash = createHmac('sha256', this.#key).update(`${accountId} ${address}`);
    return hash.digest('base64url').slice(0, HASH_LENGTH);
  }

  async known(accountId: string, address: string): Promise<string | undefined> {
    return (await this.#read()) ? this.of(accountId, address) : undefined;
  }

  /** Reads the key once. Returns false if there is none. Throws if its master key is missing. */
  async #read(): Promise<boolean> {
    if (this.#key) return true;
    const sealed = await this.#parts.store.hashKey();
    if (sealed === undefined) return false;
    this.#key = createSecretKey(Buffer.from(this.#parts.secrets.open(sealed), 'base64'));
    return true;
  }

  /** Returns the key. Undefined if its master key is missing, of which `checkMasterKey` warns. */
  #open(sealed: string): string | undefined {
    try {
      return this.#parts.secrets.open(sealed);
    } catch {
      return undefined;
    }
  }
}

const newKey = () => randomBytes(KEY_BYTES).toString('base64');
