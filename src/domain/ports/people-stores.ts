import type { User } from '../accounts/user.ts';
import type { AccountRole, Role } from '../caller.ts';
import type { AccessToken, KnownToken } from '../people/access-token.ts';
import type { MailLinkKind } from '../people/mail-link.ts';
import type { SecondFactor } from '../people/second-factor.ts';
import type { PasskeyCredential } from './passkeys.ts';

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
  /** People by id, removed ones included. Leaves out people of other accounts, if an account is given. */
  findMany(ids: readonly string[], accountId: string | undefined): Promise<readonly User[]>;
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
    password: { readonly hash: string; readonly isOneTime: boolean; readonly at: Date },
    knownHash?: string,
  ): Promise<boolean>;
  remove(id: string, at: Date): Promise<void>;
}

/** A stored session without its token. */
export interface SessionRow {
  readonly id: string;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  /** Without further use. */
  readonly expiresAt: Date;
  /** Regardless of use. */
  readonly endsAt: Date;
  /** When the person last gave the password or a second factor. */
  readonly verifiedAt: Date;
  readonly address: string;
  readonly userAgent: string;
}

/** A session with its person and what restricts it. */
export interface FoundSession extends SessionRow {
  readonly tokenHash: Buffer;
  readonly user: User;
  /** Whether the person has a confirmed second factor. */
  readonly hasFactor: boolean;
  /** Whether the person's account requires one. */
  readonly accountRequiresFactor: boolean;
}

export interface SessionStore {
  /** Returns false and stores nothing when the person was removed or has another password by now. */
  insert(session: SessionRow & { tokenHash: Buffer; userId: string; passwordHash: string }): Promise<boolean>;
  /** The sessions that have not ended at `now`. */
  findMany(tokenHashes: readonly Buffer[], now: Date): Promise<readonly FoundSession[]>;
  /** Sessions of a person that have not ended at `now`, newest first. */
  listOf(userId: string, now: Date): Promise<readonly (SessionRow & { readonly tokenHash: Buffer })[]>;
  extend(tokenHash: Buffer, expiresAt: Date, seenAt: Date): Promise<void>;
  verified(tokenHash: Buffer, at: Date): Promise<void>;
  remove(tokenHash: Buffer): Promise<void>;
  /** Ends the sessions of a person except the one with `keptHash`. */
  removeOf(userId: string, keptHash?: Buffer): Promise<void>;
  /** Deletes sessions that expired before `now`, and failed sign-ins before `failuresBefore`. */
  forgetOld(now: Date, failuresBefore: Date): Promise<void>;
}

/** Second factors, recovery codes, and **challenges**: sign-ins that wait for a second factor. */
export interface SecondFactorStore {
  list(userId: string): Promise<readonly SecondFactor[]>;
  /** Locks the person. Returns their factors with the secrets. */
  lock(userId: string): Promise<
    readonly {
      readonly factor: SecondFactor;
      /** Null for a passkey. */
      readonly secretSealed: string | null;
      readonly lastStep: number;
    }[]
  >;
  insert(factor: SecondFactor, secretSealed: string): Promise<void>;
  /** Returns false when a person has the passkey already. */
  insertPasskey(factor: SecondFactor, credential: PasskeyCredential): Promise<boolean>;
  /** Credential ids of a person's passkeys. */
  passkeysOf(userId: string): Promise<readonly Buffer[]>;
  findPasskey(credentialId: Buffer): Promise<
    | {
        readonly factorId: string;
        readonly credential: PasskeyCredential;
        readonly user: User;
        readonly passwordHash: string;
      }
    | undefined
  >;
  /** Stores the counter of a use. Returns false when it is no longer `before`. */
  countPasskey(factorId: string, before: number, counter: number, at: Date): Promise<boolean>;
  /** Stores a challenge for a person, or for anybody with null. Forgets expired ones. */
  insertPasskeyChallenge(challenge: {
    readonly challengeHash: Buffer;
    readonly userId: string | null;
    readonly now: Date;
    readonly expiresAt: Date;
  }): Promise<void>;
  /** Uses up a challenge. Returns false when there is none that is open. */
  takePasskeyChallenge(challengeHash: Buffer, userId: string | null, now: Date): Promise<boolean>;
  recordUse(id: string, step: number, at: Date): Promise<void>;
  confirm(id: string, at: Date): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** Replaces all codes of the person, used ones too. */
  replaceRecoveryCodes(userId: string, hashes: readonly Buffer[]): Promise<void>;
  /** Returns false for an unknown or used code. */
  takeRecoveryCode(userId: string, hash: Buffer, at: Date): Promise<boolean>;
  countRecoveryCodes(userId: string): Promise<number>;
  insertChallenge(challenge: {
    tokenHash: Buffer;
    userId: string;
    passwordHash: string;
    expiresAt: Date;
  }): Promise<void>;
  /** Undefined when it has expired or was answered, or the person has another password. */
  findChallenge(tokenHash: Buffer, now: Date): Promise<{ user: User; passwordHash: string } | undefined>;
  /** Returns false when there was none. */
  removeChallenge(tokenHash: Buffer): Promise<boolean>;
  removeChallengesOf(userId: string): Promise<void>;
  forgetChallenges(now: Date): Promise<void>;
}

/** Devices from which people have signed in, by hash. */
export interface KnownDeviceStore {
  /** Whether a person with the email has signed in with the device. */
  isKnownFor(email: string, deviceHash: Buffer): Promise<boolean>;
  /**
   * Records that the person signed in with a device that has these hashes, and keeps the `most` devices that were seen
   * last. Returns whether one of the hashes was known, or all are new, or the person had no device before.
   */
  see(
    userId: string,
    deviceHashes: readonly Buffer[],
    at: Date,
    most: number,
  ): Promise<'known' | 'new' | 'first'>;
}

/** Links by mail that let their holder set a password. */
export interface MailLinkStore {
  insert(link: {
    readonly tokenHash: Buffer;
    readonly userId: string;
    readonly kind: MailLinkKind;
    readonly passwordHash: string;
    readonly expiresAt: Date;
  }): Promise<void>;
  /** Undefined when it has ended or was used, or the person was removed or has another password. */
  find(
    tokenHash: Buffer,
    kind: MailLinkKind,
    now: Date,
  ): Promise<{ user: User; passwordHash: string } | undefined>;
  remove(tokenHash: Buffer): Promise<void>;
  forgetEnded(now: Date): Promise<void>;
}

export interface AccessTokenStore {
  insert(token: AccessToken, tokenHash: Buffer): Promise<void>;
  /** Tokens that are not revoked and have not ended at `now`, of people who are not removed. */
  findLiving(
    tokenHashes: readonly Buffer[],
    now: Date,
  ): Promise<readonly (KnownToken & { readonly tokenHash: Buffer })[]>;
  /** A person's tokens, newest first, ended ones too. */
  list(userId: string): Promise<readonly AccessToken[]>;
  /** Undefined when the person has no such token. */
  revoke(
    id: string,
    userId: string,
    at: Date,
  ): Promise<{ token: AccessToken; tokenHash: Buffer } | undefined>;
  recordUse(tokenHash: Buffer, at: Date): Promise<void>;
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
