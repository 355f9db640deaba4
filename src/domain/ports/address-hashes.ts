/** Makes keyed hashes of addresses, for what must be recognised after the address is erased (R492). */
export interface AddressHashes {
  /** Loads the key, and makes it if there is none. Call it before `of`, outside any transaction. */
  load(): Promise<void>;
  /** Returns the hash of an address in its stored form. The same address has another hash in another account. */
  of(accountId: string, address: string): string;
  /** Does what `of` does, without `load` before. Undefined if there is no key, because nobody was erased. */
  known(accountId: string, address: string): Promise<string | undefined>;
}
