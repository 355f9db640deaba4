import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { AddressHash, AddressHashes } from '../domain/ports/address-hashes.ts';
import type { Cache, CreateCache } from '../domain/ports/changes.ts';
import type { ErasureStore } from '../domain/ports/erasure-store.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { SecretBox } from '../domain/ports/system.ts';
import { sealedUnder } from './secret-box.ts';

const KEY_BYTES = 32;
/** 132 bits: two addresses of an account never share a hash. */
const HASH_LENGTH = 22;
/** Number of accounts whose keys stay in memory. */
const MAX_KEYS = 1_000;

interface Parts {
  readonly store: Pick<ErasureStore, 'hashKey' | 'hashKeys' | 'addHashKey' | 'replaceHashKey' | 'erasing'>;
  readonly createCache: CreateCache;
  readonly secrets: SecretBox;
  readonly lostMasterKeys: readonly string[];
  readonly logger: Pick<Logger, 'warn'>;
}

/**
 * Hashes addresses with HMAC-SHA-256. The key is random, so that it stays the same when the master key is rotated, and
 * is stored sealed with the master key. Without it, the hash of a phone number would be found by trying all numbers.
 *
 * The database has one key. An account that came from another cell has brought the key of that cell, and keeps it.
 */
export class KeyedAddressHashes implements AddressHashes {
  readonly #parts: Parts;
  /** By account. An account never gets another key while a process runs. */
  readonly #keys = new Map<string, KeyObject>();
  /** Anyone can text STOP as often as they like, so a text alone must not read all erasures. It has one value. */
  readonly #erasing: Cache<ReadonlyMap<string, AddressHash>>;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#erasing = parts.createCache('erasures', () => this.#readErasing());
  }

  /**
   * Runs when the process starts. Seals existing keys anew if the master key was rotated. Replaces a key whose master key
   * is declared lost: suppressions of erased people are not recognised any more then.
   */
  async start(): Promise<void> {
    const { store, secrets, lostMasterKeys, logger } = this.#parts;
    for (const sealed of await store.hashKeys()) {
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
  }

  async of(accountId: string): Promise<AddressHash> {
    const { store, secrets } = this.#parts;
    const known = await this.known(accountId);
    if (known) return known;
    await store.addHashKey(secrets.seal(newKey()));
    const added = await this.known(accountId);
    if (!added) throw new Error('the key of address hashes was not stored');
    return added;
  }

  async known(accountId: string): Promise<AddressHash | undefined> {
    const key = await this.#read(accountId);
    return key && hashWith(key, accountId);
  }

  ofErasing(): Promise<ReadonlyMap<string, AddressHash>> {
    return this.#erasing.get('all');
  }

  /** Leaves out accounts whose key cannot be opened, so that a reply of a person still counts for the other accounts. */
  async #readErasing(): Promise<ReadonlyMap<string, AddressHash>> {
    const found = new Map<string, AddressHash>();
    // Most accounts have the same key.
    const rows = Map.groupBy(await this.#parts.store.erasing(), ({ sealed }) => sealed);
    for (const [sealed, accounts] of rows) {
      try {
        const key = this.#unseal(sealed);
        for (const { accountId } of accounts) found.set(accountId, hashWith(key, accountId));
      } catch (error) {
        this.#parts.logger.warn(
          { accounts: accounts.length, masterKey: sealedUnder(sealed), err: error },
          'the key of address hashes cannot be opened: a STOP of an erased person is not kept for its accounts',
        );
      }
    }
    return found;
  }

  /** Reads the key of an account once. Undefined if there is none. Throws if its master key is missing. */
  async #read(accountId: string): Promise<KeyObject | undefined> {
    const known = this.#keys.get(accountId);
    if (known) return known;
    const sealed = await this.#parts.store.hashKey(accountId);
    if (sealed === undefined) return undefined;
    const key = this.#unseal(sealed);
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
    this.#keys.set(accountId, key);
    return key;
  }

  #unseal(sealed: string): KeyObject {
    return createSecretKey(Buffer.from(this.#parts.secrets.open(sealed), 'base64'));
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

function hashWith(key: KeyObject, accountId: string): AddressHash {
  return (address) => {
    const hash = createHmac('sha256', key).update(`${accountId} ${address}`);
    return hash.digest('base64url').slice(0, HASH_LENGTH);
  };
}

const newKey = () => randomBytes(KEY_BYTES).toString('base64');
