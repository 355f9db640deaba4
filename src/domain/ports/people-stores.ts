import type { PersonFacts, User } from '../accounts/user.ts';
import type { Role } from '../caller.ts';
import type { AccessToken, KnownToken } from '../people/access-token.ts';
import type { MailLinkKind } from '../people/mail-link.ts';
import type { OperatorReset } from '../people/operator-reset.ts';
import type { SecondFactor } from '../people/second-factor.ts';
import type { PasskeyCredential } from './passkeys.ts';

export interface UserStore {
  /**
   * Stores a person. Returns false if another person of the account has the email address. If an operator adds the
   * person, also returns false if another person whom an operator added has the email address.
   */
  insert(user: User, passwordHash: string): Promise<boolean>;
  /**
   * Returns the people with this email address. This query and the others leave out removed people and expired
   * invitations, unless their comment says otherwise.
   */
  withEmail(email: string): Promise<readonly User[]>;
  /**
   * Returns the ids of the people with this email address. Removed people of the account `accountId` are among them; if
   * it is undefined, removed operators, and the present people of all accounts.
   */
  idsOfEmail(email: string, accountId: string | undefined): Promise<readonly string[]>;
  /**
   * Returns password hashes of people with the email address, one for each different salt, oldest first. There is
   * usually one, because new hashes reuse a salt. There are at most 3.
   */
  saltsOf(email: string): Promise<readonly string[]>;
  /**
   * Returns the person who has the email address and one of the hashes. `among` and `except` restrict the search by
   * ids. If several people match, the first choice is a person whom an operator added. The next is the person who
   * accepted first, and then the person who was invited first.
   */
  findByPassword(
    email: string,
    hashes: readonly string[],
    people: { readonly among?: readonly string[]; readonly except?: readonly string[] },
  ): Promise<{ user: User; passwordHash: string } | undefined>;
  find(id: string): Promise<{ user: User; passwordHash: string } | undefined>;
  /** Returns people by id, removed people included. If an account is given, it leaves out people of other accounts. */
  findMany(ids: readonly string[], accountId: string | undefined): Promise<readonly User[]>;
  /** Returns the role of a person, or `removed`. Undefined for an unknown id. */
  roleOf(id: string): Promise<Role | 'removed' | undefined>;
  /**
   * Returns the operators, sorted by email address. Leaves out operators whom their identity provider has removed
   * (R358).
   */
  operators(): Promise<readonly User[]>;
  /** Returns the people of an account, sorted by email address. */
  members(accountId: string): Promise<readonly User[]>;
  /** Locks the people of an account, so that concurrent changes cannot leave it without an owner. */
  lockMembers(accountId: string): Promise<readonly User[]>;
  setRole(id: string, role: Role): Promise<void>;
  accept(id: string, at: Date): Promise<void>;
  /** Stores when the person showed that the email address is theirs. An earlier time stays. */
  proveEmail(id: string, at: Date): Promise<void>;
  /** Frees the email addresses of the account's expired invitations, so that they can be used again. */
  forgetExpired(accountId: string): Promise<void>;
  /** Sets a password. If `knownHash` is given and is not the stored hash, returns false and changes nothing. */
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
  /** When the session ends if it is not used again. */
  readonly expiresAt: Date;
  /** When the session ends even if it is used. */
  readonly endsAt: Date;
  /** When the person last gave the password or a second factor. */
  readonly verifiedAt: Date;
  readonly address: string;
  readonly userAgent: string;
  /** From where the person signed in, as `KE`. Null if it is not known (R487). */
  readonly country: string | null;
  /** The identity at a provider by which the person signed in. Null for other sign-ins. */
  readonly identityId: string | null;
}

/** A session with its person. */
export interface FoundSession extends SessionRow, PersonFacts {
  readonly tokenHash: Buffer;
}

export interface SessionStore {
  /** Stores a session. If the person was removed or has another password by now, returns false and stores nothing. */
  insert(session: SessionRow & { tokenHash: Buffer; userId: string; passwordHash: string }): Promise<boolean>;
  /** Returns the sessions that have not ended at `now`. */
  findMany(tokenHashes: readonly Buffer[], now: Date): Promise<readonly FoundSession[]>;
  /** Returns a person's sessions that have not ended at `now`, newest first. */
  listOf(userId: string, now: Date): Promise<readonly (SessionRow & { readonly tokenHash: Buffer })[]>;
  extend(tokenHash: Buffer, expiresAt: Date, seenAt: Date): Promise<void>;
  verified(tokenHash: Buffer, at: Date): Promise<void>;
  remove(tokenHash: Buffer): Promise<void>;
  /** Ends all sessions of a person except the session with the hash `keptHash`. */
  removeOf(userId: string, keptHash?: Buffer): Promise<void>;
  /** Deletes sessions that expired before `now`, and failed sign-ins before `failuresBefore`. */
  forgetOld(now: Date, failuresBefore: Date): Promise<void>;
}

/** Stores second factors, recovery codes, and **challenges**: sign-ins that wait for a second factor. */
export interface SecondFactorStore {
  list(userId: string): Promise<readonly SecondFactor[]>;
  /** Locks the person. Returns the person's factors with their secrets. */
  lock(userId: string): Promise<
    readonly {
      readonly factor: SecondFactor;
      /** The encrypted secret of a TOTP app. Null for a passkey. */
      readonly secretSealed: string | null;
      readonly lastStep: number;
    }[]
  >;
  insert(factor: SecondFactor, secretSealed: string): Promise<void>;
  /** Stores a passkey. Returns false if it is stored already, for this or another person. */
  insertPasskey(factor: SecondFactor, credential: PasskeyCredential): Promise<boolean>;
  /** Returns the credential ids of a person's passkeys. */
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
  /** Stores the passkey's counter after a use. Returns false if the stored counter is not `before` any more. */
  countPasskey(factorId: string, before: number, counter: number, at: Date): Promise<boolean>;
  /**
   * Stores a passkey challenge for one person. If `userId` is null, any person may answer it. Deletes expired
   * challenges.
   */
  insertPasskeyChallenge(challenge: {
    readonly challengeHash: Buffer;
    readonly userId: string | null;
    readonly now: Date;
    readonly expiresAt: Date;
  }): Promise<void>;
  /** Removes a passkey challenge, so that it is used only once. Returns false if no such challenge is open. */
  takePasskeyChallenge(challengeHash: Buffer, userId: string | null, now: Date): Promise<boolean>;
  recordUse(id: string, step: number, at: Date): Promise<void>;
  confirm(id: string, at: Date): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** Replaces all recovery codes of the person, also the used codes. */
  replaceRecoveryCodes(userId: string, hashes: readonly Buffer[]): Promise<void>;
  /** Marks a recovery code as used. Returns false for an unknown or used code. */
  takeRecoveryCode(userId: string, hash: Buffer, at: Date): Promise<boolean>;
  countRecoveryCodes(userId: string): Promise<number>;
  insertChallenge(challenge: {
    tokenHash: Buffer;
    userId: string;
    passwordHash: string;
    expiresAt: Date;
  }): Promise<void>;
  /**
   * Returns the person of a challenge. Undefined if the challenge has expired or was answered, or if the person has
   * another password by now.
   */
  findChallenge(tokenHash: Buffer, now: Date): Promise<{ user: User; passwordHash: string } | undefined>;
  /** Removes a challenge. Returns false if there was none. */
  removeChallenge(tokenHash: Buffer): Promise<boolean>;
  removeChallengesOf(userId: string): Promise<void>;
  forgetChallenges(now: Date): Promise<void>;
}

/** Stores the devices from which people have signed in, by hash, and the countries. */
export interface KnownDeviceStore {
  /** Returns the ids of the people with the email address who have signed in from the device. */
  peopleOf(email: string, deviceHash: Buffer): Promise<readonly string[]>;
  /**
   * Records that the person signed in from a device that has these hashes. Keeps only the `most` devices that were seen
   * last. Returns `known` if one of the hashes was stored, `first` if the person had no device before, otherwise `new`.
   */
  see(
    userId: string,
    deviceHashes: readonly Buffer[],
    at: Date,
    most: number,
  ): Promise<'known' | 'new' | 'first'>;
  /**
   * Records that the person signed in from the country. Forgets countries that were not seen since `since`, and keeps
   * only the `most` that were seen last. Returns `known` if the country was seen since `since`, `first` if the person had
   * no country before, otherwise `new`.
   */
  seeCountry(
    userId: string,
    country: string,
    at: Date,
    since: Date,
    most: number,
  ): Promise<'known' | 'new' | 'first'>;
}

/** Stores the links that a mail contains and by which the recipient sets a password. */
export interface MailLinkStore {
  insert(link: {
    readonly tokenHash: Buffer;
    readonly userId: string;
    readonly kind: MailLinkKind;
    readonly passwordHash: string;
    readonly expiresAt: Date;
  }): Promise<void>;
  /**
   * Returns the person to whom the link was mailed. Undefined if the link has ended or was used. Also undefined if the
   * person was removed or has another password by now.
   */
  find(
    tokenHash: Buffer,
    kind: MailLinkKind,
    now: Date,
  ): Promise<{ user: User; passwordHash: string } | undefined>;
  remove(tokenHash: Buffer): Promise<void>;
  forgetEnded(now: Date): Promise<void>;
}

/** Stores pending requests to reset the sign-in of an operator (R400). */
export interface OperatorResetStore {
  /** Stores a request. Returns false if the same reset of the person is pending. Deletes expired requests. */
  insert(reset: OperatorReset, partSealed: string | null): Promise<boolean>;
  /** Returns the requests that have not expired at `now`, oldest first. */
  list(now: Date): Promise<readonly OperatorReset[]>;
  /**
   * Returns a request, and the sealed part of the new password that the requester was shown. Undefined if the request
   * has ended.
   */
  find(
    id: string,
    now: Date,
  ): Promise<{ readonly reset: OperatorReset; readonly partSealed: string | null } | undefined>;
  /** Removes a request, so that it ends only once. Returns false if it has ended. */
  remove(id: string, now: Date): Promise<boolean>;
}

export interface AccessTokenStore {
  insert(token: AccessToken, tokenHash: Buffer): Promise<void>;
  /** Returns the tokens that are not revoked and have not ended at `now`. Leaves out tokens of removed people. */
  findLiving(
    tokenHashes: readonly Buffer[],
    now: Date,
  ): Promise<readonly (KnownToken & { readonly tokenHash: Buffer })[]>;
  /** Returns a person's tokens, newest first. Includes tokens that have ended. */
  list(userId: string): Promise<readonly AccessToken[]>;
  /** Revokes a token. Returns undefined if the person has no such token. */
  revoke(
    id: string,
    userId: string,
    at: Date,
  ): Promise<{ token: AccessToken; tokenHash: Buffer } | undefined>;
  /** Revokes all tokens of a person. */
  revokeAllOf(userId: string, at: Date): Promise<void>;
  recordUse(tokenHash: Buffer, at: Date): Promise<void>;
}

/** Stores failed sign-ins by bucket. A bucket counts the failures of one email address or of one IP address. */
export interface SignInFailureStore {
  /** Locks the buckets. Returns the times of their failures after `since`, oldest first. */
  lock(buckets: readonly string[], since: Date): Promise<ReadonlyMap<string, readonly Date[]>>;
  add(attemptId: string, buckets: readonly string[], at: Date): Promise<void>;
  /** Removes the failures of one attempt. If `bucket` is given, also removes all failures of that bucket. */
  forget(attemptId: string, bucket?: string): Promise<void>;
  /** Removes the failures of one attempt from all buckets but `keptBucket`. */
  forgetElsewhere(attemptId: string, keptBucket: string): Promise<void>;
  /**
   * Removes every attempt that has a failure in `bucket`. The failures of these attempts in other buckets are removed,
   * too.
   */
  forgetAttempts(bucket: string): Promise<void>;
}
