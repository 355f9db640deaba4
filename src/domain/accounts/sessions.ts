/**
 * A **session** identifies a signed-in person. Its token is 32 random bytes, and the store has their SHA-256. A session
 * ends 12 hours after its last use, but at the latest 7 days after it began. It also ends at sign-out, when the
 * password changes, and when the person is removed (R249). An access token is looked up like a session, but use does
 * not extend it.
 *
 * A person with a **second factor** signs in in two steps: the password creates a **challenge**, and a code or a
 * passkey answers it (R250).
 */

import { alertOfSignIn } from '../alerts/sign-in-alert.ts';
import {
  type MemberCaller,
  type OperatorCaller,
  type Restriction,
  restrictedTo,
  type SystemCaller,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, forbidden, serviceUnavailable, unauthorized, validationError } from '../errors.ts';
import { shownClient } from '../ip-network.ts';
import { ACCESS_TOKEN_PREFIX, hashToken } from '../people/access-token.ts';
import { COUNTRIES_MAX, COUNTRY_DAYS } from '../people/country.ts';
import { deviceOf } from '../people/device.ts';
import { PASSWORD_MAX_LENGTH } from '../people/password-rules.ts';
import { CHALLENGE_MS, mustHaveFactor, type SecondFactorPolicy } from '../people/second-factor.ts';
import { takeCode } from '../people/take-code.ts';
import { openChallenge, takeOpenChallenge, takePasskey } from '../people/take-passkey.ts';
import type { Cache } from '../ports/changes.ts';
import type { PasskeyJson } from '../ports/passkeys.ts';
import type { SessionRow } from '../ports/people-stores.ts';
import type { PrimaryWatch } from '../ports/primary.ts';
import type { Tx } from '../ports/stores.ts';
import type { AuditedEvent, SecurityWatch } from '../security/security-watch.ts';
import { FAILURES_WINDOW_MS, type Forgiven, SignInAttempts } from './sign-in-attempts.ts';
import { hasExpiredPassword, ONE_TIME_HOURS, type PersonFacts, type User } from './user.ts';

export const SESSION_MS = 12 * 3_600_000;
const DAY_MS = 24 * 3_600_000;
const SESSION_MOST_MS = 7 * DAY_MS;
/** How long operations with step-up are allowed after a password or code was checked, in ms (R253). */
const VERIFIED_MS = 10 * 60_000;
/**
 * A session in use is read again and extended at most once in this time, in ms. This saves reads and writes. So a
 * change that was not announced takes effect within a minute.
 */
const EXTEND_EVERY_MS = 60_000;
/** The same where sessions may be remembered, in ms. So a session in use is remembered for at least 40 s. */
const READ_EVERY_MS = 20_000;
/**
 * How long after its last read from the primary a session is accepted while there is no primary, in ms (R520). In that
 * time a session that was ended elsewhere could still read.
 */
const REMEMBERED_MS = 60_000;
/** Number of passwords that may wait for a check in one process. */
const CHECKS_WAITING_MAX = 200;
const USER_AGENT_MAX_LENGTH = 300;
/** Largest number of devices that are stored for a person. */
const DEVICES_MAX = 40;
/** A mail about a new device must not be sent later than this after the sign-in, in ms. */
const NEW_DEVICE_MAIL_MS = 24 * 3_600_000;
const WRONG_PASSKEY = 'The passkey was not accepted. Begin again.';
const LOCAL_SIGN_IN = { identityId: null, longestMs: SESSION_MOST_MS } as const;
const WRONG_CODE = 'is wrong, or was used before';

interface StoredUser {
  readonly user: User;
  readonly passwordHash: string;
}
/** A session or an access token, as it was read from the store. */
interface CachedSession {
  readonly caller: MemberCaller | OperatorCaller;
  /** When the session or token ends. Each use of a session moves this time, the use of an access token does not. */
  expiresAt: Date;
  readonly endsAt: Date;
  readonly verifiedAt: Date | undefined;
  lastSeenAt: Date;
  readonly readAt: Date;
  readonly isToken: boolean;
}
class SessionNotFound extends Error {
  override readonly name = 'SessionNotFound';
}
/** The IP address and the browser of a sign-in. */
export interface Client {
  readonly address: string;
  readonly userAgent: string;
  /** The token in the browser's device cookie, if it has one. */
  readonly device?: string | undefined;
  /** The country that a trusted proxy names. Without it the database of countries is asked (R487). */
  readonly country?: string | undefined;
}
/** The proof of a second factor that a person gives: either a code or a passkey's answer. */
export interface ShownFactor {
  readonly code?: string | undefined;
  readonly passkey?: PasskeyJson | undefined;
}
export interface SignedIn {
  readonly token: string;
  readonly expiresAt: Date;
  readonly user: User;
  readonly session: Session;
}
/** A session or an access token that was found. `isExtended` is true if this use moved `expiresAt`. */
export interface Session {
  readonly tokenHash: Buffer;
  readonly caller: MemberCaller | OperatorCaller;
  readonly expiresAt: Date;
  readonly isExtended: boolean;
  readonly isToken: boolean;
  /** True if it was accepted without the primary. It may then only read, and only from a replica (R520). */
  readonly isRemembered?: boolean;
}

type SessionDependencies = Pick<
  Dependencies,
  | 'stores'
  | 'uow'
  | 'passwords'
  | 'clock'
  | 'ids'
  | 'createCache'
  | 'secrets'
  | 'totp'
  | 'passkeys'
  | 'mailer'
  | 'countries'
> & {
  readonly security: SecurityWatch;
  /** If set, sessions are remembered while there is no primary (R520). */
  readonly primary?: PrimaryWatch | undefined;
  readonly settings: {
    readonly secondFactorPolicy: SecondFactorPolicy;
    /** If true, a person with a one-time password may only change that password (ONE_TIME_PASSWORDS). */
    readonly restrictsOneTimePasswords: boolean;
  };
};

/**
 * Number of people with failed sign-ins that are kept in memory. For them a lockout is reported without a query. It
 * also limits the sessions in `#givenDevices`.
 */
const FAILED_MAX = 1_000;
/** The actor of events that happen before the person is authenticated. */
const SIGN_IN: SystemCaller = { kind: 'system', name: 'sign-in' };

/** Signs people in and out, and finds sessions and access tokens. */
export class Sessions {
  readonly #deps: SessionDependencies;
  readonly #attempts: SignInAttempts;
  /** Sessions and access tokens by `cacheKey`. */
  readonly #cache: Cache<CachedSession>;
  /** People with failed sign-ins by email address in lower case, the oldest failure first. */
  readonly #failed = new Map<string, User>();
  /** Sessions to which this process has given a device cookie, the oldest first. */
  readonly #givenDevices = new Set<string>();
  #unknownHash: Promise<string> | undefined;

  constructor(deps: SessionDependencies) {
    this.#deps = deps;
    this.#cache = deps.createCache('session', (key) => {
      const isToken = key.startsWith(TOKEN_KEY);
      return this.#read(Buffer.from(isToken ? key.slice(TOKEN_KEY.length) : key, 'hex'), isToken);
    });
    this.#attempts = new SignInAttempts(deps);
  }

  /**
   * Starts a session if the password is right and, for a person with a second factor, the `code` is right.
   *
   * Throws `second_factor_required` with a challenge if the code is missing. Throws `unauthorized` for a wrong code and
   * for an expired one-time password (R252). An unknown email address and a wrong password throw the same
   * `unauthorized`. Throws `rate_limit_exceeded` after ten failures in 15 minutes for the email address, the IP address
   * or the person's codes.
   */
  async signIn(email: string, password: string, client: Client, code?: string): Promise<SignedIn> {
    const found = await this.checkPassword(email, password, client);
    if (!found) throw unauthorized('The email or the password is wrong.');
    const { user } = found;
    if (hasExpiredPassword(user, this.#deps.clock.now())) {
      throw unauthorized(
        `This one-time password has expired: it is valid for ${ONE_TIME_HOURS} hours. Ask for another one.`,
      );
    }
    if (!(await this.#hasFactor(user.id))) return this.#open(found, client);
    if (code === undefined) throw await this.#challenge(found);
    if (!(await this.#takesCode(user, code, client))) throw unauthorized(`The code ${WRONG_CODE}.`);
    return this.#open(found, client);
  }

  /** Completes a sign-in with a second factor. Throws `unauthorized` for a wrong code, passkey or challenge. */
  async answerChallenge(challenge: string, shown: ShownFactor, client: Client): Promise<SignedIn> {
    const { stores, clock } = this.#deps;
    const tokenHash = hashToken(challenge);
    const found = await stores.secondFactors.findChallenge(tokenHash, clock.now());
    if (!found) throw unauthorized('The sign-in has taken too long. Begin again with your password.');
    if (shown.passkey !== undefined) {
      const isIt = (signed: Buffer) => Promise.resolve(signed.toString('base64url') === challenge);
      if (!(await this.#takesPasskey(found.user, shown.passkey, client, isIt)))
        throw unauthorized(WRONG_PASSKEY);
    } else if (!(await this.#takesCode(found.user, shown.code ?? '', client))) {
      throw unauthorized(`The code ${WRONG_CODE}.`);
    }
    // Two answers may arrive at the same time. Only the answer that removes the challenge starts a session.
    if (!(await stores.secondFactors.removeChallenge(tokenHash)))
      throw unauthorized('The sign-in was answered already. Begin again with your password.');
    return this.#open(found, client);
  }

  /**
   * Records that the person of a session proved their identity. A person with a second factor gives a code or a
   * passkey, any other person the password. Throws `validation_error` if the proof is wrong or of the other kind.
   */
  async stepUp(
    session: Session,
    shown: ShownFactor & { readonly password?: string | undefined },
    client: Client,
  ): Promise<void> {
    const { stores } = this.#deps;
    if (session.isToken) throw forbidden('An access token cannot do this. Sign in instead.');
    const person = await stores.users.find(session.caller.userId);
    if (!person) throw unauthorized('Sign in again.');
    const wrong = (path: 'code' | 'passkey' | 'password', message: string) =>
      validationError([{ path, message }]);
    if (await this.#hasFactor(person.user.id)) {
      if (shown.passkey !== undefined) {
        const isTaken = (challenge: Buffer) => takeOpenChallenge(this.#deps, challenge, null);
        if (!(await this.#takesPasskey(person.user, shown.passkey, client, isTaken)))
          throw wrong('passkey', 'was not accepted; begin again');
      } else if (shown.code === undefined) throw wrong('code', 'give a code of your second factor');
      else if (!(await this.#takesCode(person.user, shown.code, client))) throw wrong('code', WRONG_CODE);
    } else {
      const { password } = shown;
      const { email, id } = person.user;
      if (password === undefined) throw wrong('password', 'give your password');
      if (!(await this.checkPassword(email, password, client, id)))
        throw wrong('password', 'is not your password');
    }
    await this.confirm(session);
  }

  /** Returns what the browser passes to the authenticator, to sign in with only a passkey or for a step-up. */
  async startPasskeySignIn(): Promise<PasskeyJson> {
    const { stores, clock, ids, passkeys } = this.#deps;
    const challenge = ids.random(32);
    await openChallenge({ stores, clock }, challenge, null);
    return passkeys.requestOptions(challenge, []);
  }

  /**
   * Signs a person in with only a passkey, because the authenticator has verified the person (R304). Throws
   * `unauthorized` for an answer that is not valid.
   */
  async signInWithPasskey(passkey: PasskeyJson, client: Client): Promise<SignedIn> {
    const found = await takePasskey(this.#deps, passkey, (challenge) =>
      takeOpenChallenge(this.#deps, challenge, null),
    );
    if (found) return this.#open(found, client);
    this.#noteFailure('second_factor', undefined, client);
    throw unauthorized(WRONG_PASSKEY);
  }

  /** True if the answer comes from a passkey of this person and signs a challenge that `takeChallenge` accepts. */
  async #takesPasskey(
    user: User,
    passkey: PasskeyJson,
    client: Client,
    takeChallenge: (challenge: Buffer) => Promise<boolean>,
  ): Promise<boolean> {
    const found = await takePasskey(this.#deps, passkey, takeChallenge);
    if (found?.user.id === user.id) return true;
    this.#noteFailure('second_factor', user, client);
    return false;
  }

  async #hasFactor(userId: string): Promise<boolean> {
    const factors = await this.#deps.stores.secondFactors.list(userId);
    return factors.some(({ confirmedAt }) => confirmedAt !== null);
  }

  /**
   * Stores a challenge after the right password was given. Returns the error that tells the challenge to the client. A
   * passkey must sign this challenge.
   */
  async #challenge({ user, passwordHash }: StoredUser): Promise<DomainError> {
    const { stores, clock, ids, passkeys } = this.#deps;
    const bytes = ids.random(32);
    const challenge = bytes.toString('base64url');
    const now = clock.now();
    const expiresAt = new Date(now.getTime() + CHALLENGE_MS);
    const tokenHash = hashToken(challenge);
    await stores.secondFactors.forgetChallenges(now);
    await stores.secondFactors.insertChallenge({ tokenHash, userId: user.id, passwordHash, expiresAt });
    const factors = await stores.secondFactors.list(user.id);
    const kinds = new Set(factors.flatMap(({ kind, confirmedAt }) => (confirmedAt === null ? [] : kind)));
    const credentials = await stores.secondFactors.passkeysOf(user.id);
    return new DomainError(
      'second_factor_required',
      'Give a code of your second factor, or a recovery code.',
      {
        challenge,
        kinds: [...kinds, 'recovery_code'],
        ...(credentials.length > 0 && { passkey: await passkeys.requestOptions(bytes, credentials) }),
        expiresAt: expiresAt.toISOString(),
      },
    );
  }

  /**
   * Checks a code of the person and marks it as used. Returns false for a wrong code. Guesses of codes are limited like
   * guesses of passwords.
   */
  async #takesCode(user: User, code: string, client: Client): Promise<boolean> {
    const check = async () => {
      const kind = await this.#deps.uow.run((tx) => takeCode(tx, this.#deps, user.id, code));
      if (kind === undefined) this.#noteFailure('second_factor', user, client);
      return kind;
    };
    const kind = await this.#attempts.attempt(
      { kind: 'code', value: user.id },
      client.address,
      check,
      () => 'bucket',
    );
    if (kind === 'recovery_code') {
      this.#deps.security.recordAudited(
        eventOf('member.useRecoveryCode', user, callerFor(user), client),
        shownClient(client.address),
      );
    }
    return kind !== undefined;
  }

  /**
   * Starts the session of a person whom an identity provider has authenticated (R355). It lasts at most `longestMs`. No
   * second factor is needed, because the provider decides how people prove their identity.
   */
  openSingleSignOn(
    found: StoredUser,
    client: Client,
    identityId: string,
    longestMs = SESSION_MOST_MS,
  ): Promise<SignedIn> {
    return this.#open(found, client, { identityId, longestMs });
  }

  /** Records that the person of a session proved their identity (R253). */
  async confirm({ tokenHash }: Session): Promise<void> {
    const { uow, clock } = this.#deps;
    await uow.run(async (tx) => {
      await tx.sessions.verified(tokenHash, clock.now());
      tx.announce('session', cacheKey(tokenHash, false));
    });
  }

  async #open(
    { user, passwordHash }: StoredUser,
    client: Client,
    {
      identityId,
      longestMs,
    }: { readonly identityId: string | null; readonly longestMs: number } = LOCAL_SIGN_IN,
  ): Promise<SignedIn> {
    const { stores, uow, clock, ids } = this.#deps;
    const now = clock.now();
    const token = ids.random(32).toString('base64url');
    const expiresAt = new Date(now.getTime() + Math.min(SESSION_MS, longestMs));
    const tokenHash = hashToken(token);
    const country = client.country ?? (await this.#deps.countries.find(client.address));
    const row = {
      id: ids.uuid(),
      tokenHash,
      userId: user.id,
      passwordHash,
      createdAt: now,
      lastSeenAt: now,
      expiresAt,
      endsAt: new Date(now.getTime() + longestMs),
      verifiedAt: now,
      address: shownClient(client.address),
      userAgent: client.userAgent.slice(0, USER_AGENT_MAX_LENGTH),
      country: country ?? null,
      identityId,
    };
    await uow.run(async (tx) => {
      // The insert fails if the password was replaced during the check. Refuse then, because the old password may have
      // been stolen.
      if (!(await tx.sessions.insert(row))) throw unauthorized('The email or the password is wrong.');
      // Check this after the insert. The insert waits until a change of the account's single sign-on has ended (R356).
      if (identityId === null && (await tx.singleSignOn.isRequiredOf(user.id)))
        throw unauthorized('Your account requires single sign-on. Sign in with your provider.');
      const isTold = country !== undefined && (await this.#noteCountry(tx, user, { ...row, country }));
      await this.#noteDevice(tx, user.id, client, now, isTold);
    });
    if (await clock.agrees())
      await stores.sessions.forgetOld(now, new Date(now.getTime() - FAILURES_WINDOW_MS));
    this.#deps.security.recordAudited(
      eventOf('member.signIn', user, callerFor(user), client),
      shownClient(client.address),
    );
    const known = await this.#read(tokenHash, false);
    const session = {
      tokenHash,
      caller: this.#callerAt(known, now),
      expiresAt,
      isExtended: false,
      isToken: false,
    };
    return { token, expiresAt, user, session };
  }

  /**
   * Stores the country of a sign-in, and opens an alert if the person has not signed in from there lately (R488). Returns
   * true if the mail about this alert tells the person of the sign-in.
   */
  async #noteCountry(
    tx: Tx,
    user: User,
    session: Pick<SessionRow, 'id' | 'createdAt' | 'address' | 'userAgent'> & { readonly country: string },
  ): Promise<boolean> {
    const { country, createdAt } = session;
    const since = new Date(createdAt.getTime() - COUNTRY_DAYS * DAY_MS);
    const seen = await tx.knownDevices.seeCountry(user.id, country, createdAt, since, COUNTRIES_MAX);
    return seen === 'new' && (await alertOfSignIn(tx, this.#deps, user, session));
  }

  /**
   * Stores the device of a sign-in, and mails the person if the device is new (R302). The person gets no mail about the
   * device if another mail tells them of the sign-in.
   */
  async #noteDevice(tx: Tx, userId: string, client: Client, now: Date, isTold: boolean): Promise<void> {
    const address = shownClient(client.address);
    // Clients without cookies are recognized by their User-Agent and IP address.
    const hashes = [hashToken(`${client.userAgent}\n${address}`)];
    if (client.device !== undefined) hashes.push(hashToken(client.device));
    const seen = await tx.knownDevices.see(userId, hashes, now, DEVICES_MAX);
    if (seen !== 'new' || isTold || !this.#deps.mailer.isConfigured) return;
    const data = {
      kind: 'new_device',
      userId,
      device: deviceOf(client.userAgent),
      address,
      at: now.toISOString(),
      until: new Date(now.getTime() + NEW_DEVICE_MAIL_MS).toISOString(),
    } as const;
    await tx.jobs.enqueue([{ queue: 'person-mail', routeKey: 'person-mail', data }]);
  }

  /**
   * Returns a new token for the device cookie of a browser without this cookie. Each process returns one token per
   * session. Undefined for access tokens and for later requests of the session.
   */
  async newDevice({ caller, tokenHash, isToken }: Session): Promise<string | undefined> {
    const key = tokenHash.toString('hex');
    if (isToken || this.#givenDevices.has(key)) return undefined;
    this.#givenDevices.add(key);
    const [oldest] = this.#givenDevices;
    if (this.#givenDevices.size > FAILED_MAX && oldest !== undefined) this.#givenDevices.delete(oldest);
    const { stores, clock, ids } = this.#deps;
    const device = ids.random(32).toString('base64url');
    await stores.knownDevices.see(caller.userId, [hashToken(device)], clock.now(), DEVICES_MAX);
    return device;
  }

  /**
   * Returns the person with this email address and password, and the stored hash. Guesses are limited as in `signIn`.
   * `userId` restricts the check to one person.
   */
  async checkPassword(
    email: string,
    password: string,
    client: Client,
    userId?: string,
  ): Promise<StoredUser | undefined> {
    try {
      return await this.#checkPassword(email, password, client, userId);
    } catch (error) {
      if (isRateLimited(error)) this.#noteFailure('lockout', this.#failed.get(email.toLowerCase()), client);
      throw error;
    }
  }

  async #checkPassword(
    email: string,
    password: string,
    { address, device, userAgent }: Client,
    userId: string | undefined,
  ): Promise<StoredUser | undefined> {
    const { users, knownDevices } = this.#deps.stores;
    const deviceHash = device === undefined ? undefined : hashToken(device);
    const ofDevice = deviceHash === undefined ? [] : await knownDevices.peopleOf(email, deviceHash);
    const known = ofDevice.filter((id) => userId === undefined || id === userId);
    let hashes: Promise<readonly string[]> | undefined;
    const checkAmong = async (people: {
      readonly among?: readonly string[];
      readonly except?: readonly string[];
    }) => {
      hashes ??= this.#hashesOf(email, password);
      const found = await users.findByPassword(email, await hashes, people);
      // Compare again. The store ignores more differences in the spelling of an email address than the count of
      // failures does. Without this check, each spelling would allow ten more guesses.
      return found?.user.email.toLowerCase() === email.toLowerCase() ? found : undefined;
    };
    const forgives = ({ user }: StoredUser) => forgivenTo(user, userId);
    if (deviceHash !== undefined && known.length > 0) {
      // Count attempts from a known device separately, so that guesses from other devices cannot lock its people out.
      const subject = { kind: 'device', value: `${email} ${deviceHash.toString('hex')}` } as const;
      const check = () => checkAmong({ among: known });
      const found = await this.#attempts.attempt(subject, undefined, check, forgives);
      if (found) return found;
    }
    const noteFailure = async () =>
      this.#noteFailure('password', await this.#reportedPerson(email, userId), { address, userAgent });
    const check = async () => {
      const found = await checkAmong({ except: known, ...(userId !== undefined && { among: [userId] }) });
      if (!found) await noteFailure();
      return found;
    };
    try {
      return await this.#attempts.attempt({ kind: 'email', value: email }, address, check, forgives);
    } catch (error) {
      // A person of this known device may have mistyped the password. Do not answer that the limit is reached: other
      // people may have the email address, and the answer would reveal them. It would also be wrong for this person,
      // who may try again at once.
      if (known.length === 0 || !isRateLimited(error)) throw error;
      await noteFailure();
      return undefined;
    }
  }

  async #peopleWith(email: string): Promise<readonly User[]> {
    const like = await this.#deps.stores.users.withEmail(email);
    return like.filter((user) => user.email.toLowerCase() === email.toLowerCase());
  }

  /**
   * Returns the person in whose account a failed sign-in is recorded (R206). An account can invite any email address
   * and accept the invitation itself, and must not learn of the sign-ins of its owner. So this is the person whom an
   * operator added, or else the only one who has shown that the address is theirs. Where no mails are sent, nobody can
   * show it: it is then the only person with the address.
   */
  async #reportedPerson(email: string, userId: string | undefined): Promise<User | undefined> {
    const people = await this.#peopleWith(email);
    if (userId !== undefined) return people.find(({ id }) => id === userId);
    const added = people.find(({ invitedAt }) => invitedAt === null);
    if (added) return added;
    const [proved, ...others] = people.filter(({ emailProvedAt }) => emailProvedAt !== null);
    if (proved) return others.length === 0 ? proved : undefined;
    const [only] = people;
    const mayReport = !this.#deps.mailer.isConfigured && people.length === 1 && only?.acceptedAt !== null;
    return mayReport ? only : undefined;
  }

  #noteFailure(kind: 'password' | 'second_factor' | 'lockout', user: User | undefined, client: Client): void {
    if (user && kind === 'password') {
      const email = user.email.toLowerCase();
      this.#failed.delete(email);
      this.#failed.set(email, user);
      const [oldest] = this.#failed.keys();
      if (this.#failed.size > FAILED_MAX && oldest !== undefined) this.#failed.delete(oldest);
    }
    const action = kind === 'lockout' ? 'member.lockedOut' : 'member.signInFailed';
    this.#deps.security.recordRefusal({
      kind,
      reason: FAILURE_REASONS[kind](user),
      address: shownClient(client.address),
      userId: user?.id,
      audited: user && eventOf(action, user, SIGN_IN, client),
    });
  }

  /**
   * Returns the session or the access token that `token` belongs to. A session is extended. Undefined if the token is
   * unknown or has ended. Throws `service_unavailable` if there is no primary and the session is not remembered.
   */
  async find(token: string): Promise<Session | undefined> {
    const { stores, clock } = this.#deps;
    const tokenHash = hashToken(token);
    const now = clock.now();
    const key = cacheKey(tokenHash, token.startsWith(ACCESS_TOKEN_PREFIX));
    const found = await this.#unlessAway(() => this.#lookUp(key, now));
    if (!found) return this.#remembered(key, tokenHash, now);
    const known = found.result;
    if (!known || known.expiresAt <= now) return undefined;
    const caller = this.#callerAt(known, now);
    const { isToken, expiresAt } = known;
    const isUseRecorded = now.getTime() - known.lastSeenAt.getTime() < EXTEND_EVERY_MS;
    if (isToken && !isUseRecorded) {
      await stores.accessTokens.recordUse(tokenHash, now);
      known.lastSeenAt = now;
    }
    const full = new Date(Math.min(now.getTime() + SESSION_MS, known.endsAt.getTime()));
    const isExtended = !isToken && full.getTime() - expiresAt.getTime() >= EXTEND_EVERY_MS;
    if (!isExtended) return { tokenHash, caller, expiresAt, isExtended, isToken };
    const extended = await this.#unlessAway(() => stores.sessions.extend(tokenHash, full, now));
    if (!extended) return this.#remembered(key, tokenHash, now);
    known.expiresAt = full;
    return { tokenHash, caller, expiresAt: full, isExtended, isToken };
  }

  async #lookUp(key: string, now: Date): Promise<CachedSession | undefined> {
    try {
      const known = await this.#cache.get(key);
      const mostMs = this.#deps.primary ? READ_EVERY_MS : EXTEND_EVERY_MS;
      const isFresh = now.getTime() - known.readAt.getTime() < mostMs;
      return isFresh ? known : await this.#cache.renew(key);
    } catch (error) {
      if (!(error instanceof SessionNotFound)) throw error;
      // Otherwise a session that has ended could be remembered.
      this.#cache.forget(key);
      return undefined;
    }
  }

  async #unlessAway<T>(work: () => Promise<T>): Promise<{ readonly result: T } | undefined> {
    const { primary } = this.#deps;
    return primary ? primary.unlessAway(work) : { result: await work() };
  }

  /**
   * Returns a session, but no access token, that this process read from the primary within the last minute (R520). A
   * change of it that was announced has removed it. It needs a step-up for everything that may need one.
   */
  async #remembered(key: string, tokenHash: Buffer, now: Date): Promise<Session> {
    const known = await this.#cache.recall(key);
    const isKnown =
      known !== undefined &&
      !known.isToken &&
      now.getTime() - known.readAt.getTime() < REMEMBERED_MS &&
      known.expiresAt > now;
    if (!isKnown) {
      const message = 'The database cannot be reached at the moment, so nobody can be recognised. Try again.';
      throw serviceUnavailable(message, 1, 'database_unreachable');
    }
    const caller = { ...known.caller, needsStepUp: true };
    const { expiresAt } = known;
    return { tokenHash, caller, expiresAt, isExtended: false, isToken: false, isRemembered: true };
  }

  async #read(tokenHash: Buffer, isToken: boolean): Promise<CachedSession> {
    const { stores, clock } = this.#deps;
    const readAt = clock.now();
    if (isToken) {
      const [found] = await stores.accessTokens.findLiving([tokenHash], readAt);
      // Throw, so that the cache stores nothing. Otherwise guessed tokens would push the sessions in use out of the
      // cache.
      if (!found) throw new SessionNotFound();
      const { user, token } = found;
      const { expiresAt, permissions, lastUsedAt } = token;
      return {
        caller: { ...callerFor(user), ...this.#restrictionOf(found, found.hasIdentity), permissions },
        expiresAt,
        endsAt: expiresAt,
        verifiedAt: undefined,
        lastSeenAt: lastUsedAt ?? new Date(0),
        readAt,
        isToken,
      };
    }
    const [found] = await stores.sessions.findMany([tokenHash], readAt);
    if (!found) throw new SessionNotFound();
    const { user, expiresAt, endsAt, verifiedAt, lastSeenAt } = found;
    const caller = { ...callerFor(user), ...this.#restrictionOf(found, found.identityId !== null) };
    return { caller, expiresAt, endsAt, verifiedAt, lastSeenAt, readAt, isToken };
  }

  /**
   * Returns what a session is restricted to until the person has set a password or added a second factor (R250, R252).
   * An access token with a restriction may do nothing.
   */
  #restrictionOf(
    { user, hasFactor, accountRequiresFactor }: PersonFacts,
    isByProvider: boolean,
  ): { restriction?: Restriction } {
    // No restriction: the provider decides how the person proves their identity.
    if (isByProvider) return {};
    const { secondFactorPolicy, restrictsOneTimePasswords } = this.#deps.settings;
    if (user.mustChangePassword && restrictsOneTimePasswords) return { restriction: 'change_password' };
    if (!hasFactor && mustHaveFactor(user, secondFactorPolicy, accountRequiresFactor))
      return { restriction: 'add_second_factor' };
    return {};
  }

  #callerAt({ caller, verifiedAt }: CachedSession, now: Date): MemberCaller | OperatorCaller {
    const isVerified = verifiedAt !== undefined && now.getTime() - verifiedAt.getTime() < VERIFIED_MS;
    return isVerified ? caller : { ...caller, needsStepUp: true };
  }

  /**
   * Returns the sessions that have ended, whose role has changed, or that have become restricted, each with its error.
   * It does not extend the sessions.
   */
  async refusals(sessions: readonly Session[]): Promise<ReadonlyMap<Session, DomainError>> {
    const { stores, clock } = this.#deps;
    const now = clock.now();
    const hashesOf = (isToken: boolean) =>
      sessions.filter((session) => session.isToken === isToken).map(({ tokenHash }) => tokenHash);
    const [sessionHashes, tokenHashes] = [hashesOf(false), hashesOf(true)];
    const foundSessions = sessionHashes.length > 0 ? await stores.sessions.findMany(sessionHashes, now) : [];
    const foundTokens = tokenHashes.length > 0 ? await stores.accessTokens.findLiving(tokenHashes, now) : [];
    const callers = new Map(
      [
        ...foundSessions.map((found) => ({ found, isByProvider: found.identityId !== null })),
        ...foundTokens.map((found) => ({ found, isByProvider: found.hasIdentity })),
      ].map(({ found, isByProvider }) => [
        found.tokenHash.toString('hex'),
        { ...callerFor(found.user), ...this.#restrictionOf(found, isByProvider) },
      ]),
    );
    const refusals = new Map<Session, DomainError>();
    for (const session of sessions) {
      const caller = callers.get(session.tokenHash.toString('hex'));
      const restriction = caller?.restriction;
      if (!caller) refusals.set(session, unauthorized('The session is over. Sign in again.'));
      else if (roleOf(caller) !== roleOf(session.caller)) {
        refusals.set(session, forbidden('Your role has changed. Ask again.'));
      } else if (restriction !== undefined && restriction !== session.caller.restriction) {
        refusals.set(session, restrictedTo(restriction));
      }
    }
    return refusals;
  }

  async signOut({ tokenHash, isToken }: Session): Promise<void> {
    if (isToken) throw forbidden('An access token is ended with revokeAccessToken.');
    await this.#deps.uow.run(async (tx) => {
      await tx.sessions.remove(tokenHash);
      tx.announce('session', tokenHash.toString('hex'));
    });
  }

  /**
   * Returns the hashes that a password may have in the store for an email address. It takes the same time for an
   * unknown email address, so that the time does not reveal who has an account.
   */
  async #hashesOf(email: string, password: string): Promise<readonly string[]> {
    const { passwords, ids, stores } = this.#deps;
    if (passwords.waiting > CHECKS_WAITING_MAX) {
      throw serviceUnavailable('Too many people sign in at once. Try again.');
    }
    this.#unknownHash ??= passwords.hash(ids.random(18).toString('base64url'));
    const known = await stores.users.saltsOf(email);
    const hashes: string[] = [];
    for (const like of known.length > 0 ? known : [await this.#unknownHash]) {
      hashes.push(await passwords.hash(password.slice(0, PASSWORD_MAX_LENGTH), like));
    }
    return password.length <= PASSWORD_MAX_LENGTH ? hashes : [];
  }
}

/**
 * Returns which failures are removed after a right password. Sign-ins of people who were invited count for their email
 * address. The reason: any account can invite any email address, and then knows that person's one-time password. It
 * could set that password to a guess before each sign-in. So it could test the passwords of other people with the email
 * address without a limit. The sign-ins count even if there are no other people, because the limit must not reveal
 * that.
 */
function forgivenTo(user: User, userId: string | undefined): Forgiven {
  if (user.invitedAt === null) return 'bucket';
  return userId === undefined ? 'address' : 'attempt';
}

function isRateLimited(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'rate_limit_exceeded';
}

function eventOf(
  action: AuditedEvent['action'],
  user: User,
  caller: AuditedEvent['caller'],
  { userAgent }: Client,
): AuditedEvent {
  return { action, accountId: user.accountId, caller, target: user.id, device: deviceOf(userAgent) };
}

/** Returns the caller for requests of a person. */
export function callerFor(user: User): MemberCaller | OperatorCaller {
  if (user.accountId === null || user.role === 'OPERATOR' || user.role === 'OPERATOR_READONLY')
    return { kind: 'operator', userId: user.id, isReadOnly: user.role !== 'OPERATOR' };
  return { kind: 'member', accountId: user.accountId, userId: user.id, role: user.role };
}

/** Returns a text that changes when the account or role of a caller changes. */
function roleOf(caller: MemberCaller | OperatorCaller): string {
  return caller.kind === 'member' ? `${caller.accountId} ${caller.role}` : `operator ${caller.isReadOnly}`;
}

/** The reason of a failed sign-in that the log shows, by kind. */
const FAILURE_REASONS = {
  password: (user: User | undefined) => (user ? 'wrong password' : 'unknown email'),
  second_factor: () => 'wrong code',
  lockout: () => 'too many failures',
} as const;

const TOKEN_KEY = 'token:';
/**
 * Returns the key of a session or access token in their common cache. A change of the session is announced under the
 * same key.
 */
export function cacheKey(tokenHash: Buffer, isToken: boolean): string {
  return `${isToken ? TOKEN_KEY : ''}${tokenHash.toString('hex')}`;
}
