import type { User } from '../accounts/user.ts';
import type { AccountRole, Role } from '../caller.ts';

export interface UserStore {
  /** False when the email is somebody's in the account, or that of somebody else whom an operator added, too. */
  insert(user: User, passwordHash: string): Promise<boolean>;
  /** Nobody who was removed is found, by any of these, and no invitation that has expired. */
  withEmail(email: string): Promise<readonly User[]>;
  /**
   * Password hashes of people with the email, one for each salt among them, the oldest first: one in all, since a new
   * one is made like those there are, and 3 at the most.
   */
  saltsOf(email: string): Promise<readonly string[]>;
  /**
   * Who of the people with the email has one of the hashes; `userId` narrows it to one person. Of several it is who was
   * added by an operator, then who has accepted first, then who was invited first.
   */
  findByPassword(
    email: string,
    hashes: readonly string[],
    userId?: string,
  ): Promise<{ user: User; passwordHash: string } | undefined>;
  find(id: string): Promise<{ user: User; passwordHash: string } | undefined>;
  /** The person's role, or that they were removed; undefined for nobody. */
  roleOf(id: string): Promise<Role | 'removed' | undefined>;
  /** The people of an account, by email. */
  members(accountId: string): Promise<readonly User[]>;
  /** Locks the people of an account, so that two changes at once cannot both leave it without an owner. */
  lockMembers(accountId: string): Promise<readonly User[]>;
  setRole(id: string, role: AccountRole): Promise<void>;
  accept(id: string, at: Date): Promise<void>;
  /** Frees the emails of the account's invitations that have expired. */
  forgetExpired(accountId: string): Promise<void>;
  /** False, and nothing is changed, when what is stored is not `knownHash`, where that is given. */
  setPassword(
    id: string,
    passwordHash: string,
    mustChangePassword: boolean,
    knownHash?: string,
  ): Promise<boolean>;
  remove(id: string, at: Date): Promise<void>;
}

export interface SessionStore {
  /** False, and nothing is stored, when the person's password is another one by now, or the person is gone. */
  insert(session: {
    tokenHash: Buffer;
    userId: string;
    passwordHash: string;
    createdAt: Date;
    expiresAt: Date;
  }): Promise<boolean>;
  /** The session that has not expired at `now`, with whom it stands for. */
  find(tokenHash: Buffer, now: Date): Promise<{ user: User; expiresAt: Date } | undefined>;
  /** Those of the sessions that have not expired at `now`, with whom they stand for. */
  findMany(
    tokenHashes: readonly Buffer[],
    now: Date,
  ): Promise<readonly { readonly tokenHash: Buffer; readonly user: User }[]>;
  extend(tokenHash: Buffer, expiresAt: Date): Promise<void>;
  remove(tokenHash: Buffer): Promise<void>;
  /** Ends the sessions of a person, except the one with `keptHash`. */
  removeOf(userId: string, keptHash?: Buffer): Promise<void>;
  /** Forgets sessions that expired before `now`, and failed sign-ins before `failuresBefore`. */
  forgetOld(now: Date, failuresBefore: Date): Promise<void>;
}

/** Failed sign-ins by bucket: an email's, or an address's. */
export interface SignInFailureStore {
  /** Locks the buckets and gives the times of their failures since `since`, the oldest first. */
  lock(buckets: readonly string[], since: Date): Promise<ReadonlyMap<string, readonly Date[]>>;
  add(attemptId: string, buckets: readonly string[], at: Date): Promise<void>;
  /** Takes an attempt back that did not fail; once it turned out well, all failures of `bucket` too. */
  forget(attemptId: string, bucket?: string): Promise<void>;
  /** Takes back every attempt that `bucket` holds, in its other buckets too. */
  forgetAttempts(bucket: string): Promise<void>;
}
