/** The request signatures that were used, shared by all processes (R10). */
export interface SpentSignatures {
  /** Remembers a key's signature until `retainedUntil`; false when it was spent before, by whichever process. */
  spend(keyId: string, signature: string, retainedUntil: Date): Promise<boolean>;
  /** Forgets those whose time has passed; how many. */
  sweep(now: Date): Promise<number>;
}
