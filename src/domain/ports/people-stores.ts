import type { User } from '../accounts/user.ts';
import type { AccountRole, Role } from '../caller.ts';

export interface UserStore {
  /** Returns false when the email is taken: in the account or, for people added by an operator, among those. */
  insert(user: User, passwordHash: string): Promise<boolean>;
  /** Neither this nor the other queries find removed people and expired invitations. */
  withEmail(email: string): Promise<readonly User[]>;
  /**
   * Password hashes of people with the email, one for each salt, oldest first. Usually one, because new hashes reuse
   * a salt; at most 3.
   */
  saltsOf(email: string): Promise<readonly string[]>;
  /**
   * The person with the email and one of the hashes. `userId` restricts it to one person. Of several, the one that
   * an operator added, then the first to accept, then the first invited.
   */
  findByPassword(
    email: string,
    hashes: readonly string[],
    userId?: string,
  ): Promise<{ user: User; passwordHash: string } | undefined>;
  find(id: string): Promise<{ user: User; passwordHash: string } | undefined>;
  /** The role of a person, or `removed`; undefined if unknown. */
  roleOf(id: string): Promise<Role | 'removed' | undefined>;
  /** The people of an account, by email. */
  members(accountId: string): Promise<readonly User[]>;
  /** Locks the people of an account, so that concurrent changes cannot leave it without an owner. */
  lockMembers(accountId: string): Promise<readonly User[]>;
  setRole(id: string, role: AccountRole): Promise<void>;
  accept(id: string, at: Date): Promise<void>;
  /** Releases the emails of expired invitations of the account. */
  forgetExpired(accountId: string): Promise<void>;
  /** Returns false and changes nothing when `knownHash` is given and is not the stored hash. */
  setPassword(
    id: string,
    passwordHash: string,
    mustChangePassword: boolean,
    knownHash?: string,
  ): Promise<boolean>;
  remove(id: string, at: Date): Promise<void>;
}

export interface SessionStore {
  /** Returns false and stores nothing when the person was removed or has another password by now. */
  insert(session: {
    tokenHash: Buffer;
    userId: string;
    passwordHash: string;
    createdAt: Date;
    expiresAt: Date;
  }): Promise<boolean>;
  /** The session, if it has not expired at `now`, with its person. */
  find(tokenHash: Buffer, now: Date): Promise<{ user: User; expiresAt: Date } | undefined>;
  /** The sessions that have not expired at `now`, with their people. */
  findMany(
    tokenHashes: readonly Buffer[],
    now: Date,
  ): Promise<readonly { readonly tokenHash: Buffer; readonly user: User }[]>;
  extend(tokenHash: Buffer, expiresAt: Date): Promise<void>;
  remove(tokenHash: Buffer): Promise<void>;
  /** Ends the sessions of a person except the one with `keptHash`. */
  removeOf(userId: string, keptHash?: Buffer): Promise<void>;
  /** Deletes sessions that expired before `now`, and failed sign-ins before `failuresBefore`. */
  forgetOld(now: Date, failuresBefore: Date): Promise<void>;
}

/** Failed sign-ins by bucket: an email's or an address's. */
export interface SignInFailureStore {
  /** Locks the buckets and returns the times of their failures after `since`, oldest first. */
  lock(buckets: readonly string[], since: Date): Promise<ReadonlyMap<string, readonly Date[]>>;
  add(attemptId: string, buckets: readonly string[], at: Date): Promise<void>;
  /** Removes an attempt, and all failures of `bucket` if given. */
  forget(attemptId: string, bucket?: string): Promise<void>;
  /** Removes every attempt in `bucket`, from its other buckets too. */
  forgetAttempts(bucket: string): Promise<void>;
}
