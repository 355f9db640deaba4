/**
 * Returns the keyed hash of an address in its stored form. The same address has another hash in another account.
 */
export type AddressHash = (address: string) => string;

/** Makes keyed hashes of addresses, for what must be recognised after the address is erased (R492). */
export interface AddressHashes {
  /** Returns the hash function of an account. Makes the key if there is none, so call it outside any transaction. */
  of(accountId: string): Promise<AddressHash>;
  /** Does what `of` does. Undefined if there is no key, because nobody was erased. */
  known(accountId: string): Promise<AddressHash | undefined>;
  /** Returns the hash functions of the accounts that have erased somebody in production. It may be from a cache. */
  ofErasing(): Promise<ReadonlyMap<string, AddressHash>>;
}
