import type { LimitRow, LimitUse, SendLimits } from '../limits/send-limits.ts';

/** Stores send limits (R370). Intake updates the counts in the same rows. */
export interface SendLimitStore {
  /** Returns all rows of an account, with the keys that share them and the counts of the current hour and day. */
  ofAccount(accountId: string): Promise<readonly LimitUse[]>;
  /** Locks the row of an account, or of a key if `keyId` is given, until the transaction ends. */
  lock(accountId: string, keyId: string | null): Promise<LimitRow | undefined>;
  /** Sets the limits of an account or a key. The counts are not changed. `id` is used if a new row is created. */
  set(id: string, accountId: string, keyId: string | null, limits: SendLimits): Promise<void>;
  /** Makes keys share all rows that apply to the key `of` (R373). Returns false if nothing changed. */
  share(of: string, keyIds: readonly string[]): Promise<boolean>;
  /** Moves the row of a replaced key to the key that replaces it. */
  handOver(from: string, to: string): Promise<void>;
  /** Deletes the counts for each phone number of the hours before `before`. Returns the number of deleted rows. */
  forgetNumbers(before: Date): Promise<number>;
}
