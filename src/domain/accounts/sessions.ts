/**
 * A **session** identifies a signed-in person. Its token is 32 random bytes; the store has their SHA-256. A session
 * ends 12 hours after its last use, at sign-out, when the password changes, and when the person is removed.
 */
import { createHash } from 'node:crypto';
import type { MemberCaller, OperatorCaller, SystemCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, forbidden, serviceUnavailable, unauthorized } from '../errors.ts';
import { shownClient } from '../ip-network.ts';
import type { Cache } from '../ports/changes.ts';
import type { AuditedEvent, SecurityWatch } from '../security/security-watch.ts';
import { FAILURES_WINDOW_MS, SignInAttempts } from './sign-in-attempts.ts';
import { PASSWORD_MAX_LENGTH, type User } from './user.ts';

export const SESSION_MS = 12 * 3_600_000;
/**
 * A session is extended and read again at most this often, to save writes. So a change that was not announced takes
 * effect within a minute.
 */
const EXTEND_EVERY_MS = 60_000;
/** Passwords that may wait for a check in one process. */
const CHECKS_WAITING_MAX = 200;

interface StoredUser {
  readonly user: User;
  readonly passwordHash: string;
}
interface CachedSession {
  readonly caller: MemberCaller | OperatorCaller;
  expiresAt: Date;
  readonly readAt: Date;
}
class SessionNotFound extends Error {
  override readonly name = 'SessionNotFound';
}
export interface SignedIn {
  readonly token: string;
  readonly expiresAt: Date;
  readonly user: User;
  readonly session: Session;
}
/** A session as found. `isExtended` is true when this use moved its end. */
export interface Session {
  readonly tokenHash: Buffer;
  readonly caller: MemberCaller | OperatorCaller;
  readonly expiresAt: Date;
  readonly isExtended: boolean;
}

type SessionDependencies = Pick<
  Dependencies,
  'stores' | 'uow' | 'passwords' | 'clock' | 'ids' | 'createCache'
> & { readonly security: SecurityWatch };

/** People with failed sign-ins, so that a lockout can be reported without a query. */
const FAILED_MAX = 1_000;
/** The actor of events before the person is authenticated. */
const SIGN_IN: SystemCaller = { kind: 'system', name: 'sign-in' };

/** Sign-in, sign-out and sessions. */
export class Sessions {
  readonly #deps: SessionDependencies;
  readonly #attempts: SignInAttempts;
  /** By the hex hash of their token. */
  readonly #cache: Cache<CachedSession>;
  /** By lower-case email, the oldest failure first. */
  readonly #failed = new Map<string, User>();
  #unknownHash: Promise<string> | undefined;

  constructor(deps: SessionDependencies) {
    this.#deps = deps;
    this.#cache = deps.createCache('session', (hash) => this.#read(Buffer.from(hash, 'hex')));
    this.#attempts = new SignInAttempts(deps);
  }

  /**
   * Starts a session for the right password. Throws `unauthorized`, the same for an unknown email and a wrong
   * password, and `rate_limit_exceeded` after ten failures in 15 minutes for the email or the address.
   */
  async signIn(email: string, password: string, address: string): Promise<SignedIn> {
    const wrong = () => unauthorized('The email or the password is wrong.');
    const found = await this.checkPassword(email, password, address);
    if (!found) throw wrong();
    const { user, passwordHash } = found;
    const { stores, clock, ids } = this.#deps;
    const now = clock.now();
    const token = ids.random(32).toString('base64url');
    const expiresAt = new Date(now.getTime() + SESSION_MS);
    const tokenHash = hashToken(token);
    const session = { tokenHash, caller: callerFor(user), expiresAt, isExtended: false };
    // Refused if the password was replaced during the check, perhaps because it leaked.
    const row = { tokenHash, userId: user.id, passwordHash, createdAt: now, expiresAt };
    if (!(await stores.sessions.insert(row))) throw wrong();
    if (await clock.agrees())
      await stores.sessions.forgetOld(now, new Date(now.getTime() - FAILURES_WINDOW_MS));
    this.#deps.security.recordAudited(eventOf('member.signIn', user, session.caller), shownClient(address));
    return { token, expiresAt, user, session };
  }

  /**
   * The person with this email and password, and the stored hash; bounded like `signIn`. `userId` restricts the
   * check to one person.
   */
  async checkPassword(
    email: string,
    password: string,
    address: string,
    userId?: string,
  ): Promise<StoredUser | undefined> {
    const check = async () => {
      const hashes = await this.#hashesOf(email, password);
      const found = await this.#deps.stores.users.findByPassword(email, hashes, userId);
      // The store ignores more differences of letters than the count of failures does. Each spelling would get ten
      // more guesses.
      if (found?.user.email.toLowerCase() === email.toLowerCase()) return found;
      this.#noteFailure('password', await this.#reportedPerson(email, userId), address);
      return undefined;
    };
    try {
      // Only people added by an operator clear the failures: any account can invite any email, and each sign-in
      // would allow ten more guesses at another person's password.
      return await this.#attempts.attempt(email, address, check, ({ user }) => user.invitedAt === null);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'rate_limit_exceeded') {
        this.#noteFailure('lockout', this.#failed.get(email.toLowerCase()), address);
      }
      throw error;
    }
  }

  /**
   * The person whose account is told of a failed sign-in (R206). An account must not learn of sign-ins to other
   * accounts, so it is the person an operator added, else the only one who has accepted, else nobody.
   */
  async #reportedPerson(email: string, userId: string | undefined): Promise<User | undefined> {
    const like = await this.#deps.stores.users.withEmail(email);
    const people = like.filter((user) => user.email.toLowerCase() === email.toLowerCase());
    if (userId !== undefined) return people.find(({ id }) => id === userId);
    const added = people.find(({ invitedAt }) => invitedAt === null);
    const [accepted, ...others] = people.filter(({ acceptedAt }) => acceptedAt !== null);
    return added ?? (others.length === 0 ? accepted : undefined);
  }

  #noteFailure(kind: 'password' | 'lockout', user: User | undefined, address: string): void {
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
      reason: kind === 'lockout' ? 'too many failures' : user ? 'wrong password' : 'unknown email',
      address: shownClient(address),
      userId: user?.id,
      audited: user && eventOf(action, user, SIGN_IN),
    });
  }

  /** The session of a token, extended by this use. Undefined for an unknown or ended one. */
  async find(token: string): Promise<Session | undefined> {
    const { stores, clock } = this.#deps;
    const tokenHash = hashToken(token);
    const now = clock.now();
    const known = await this.#lookUp(tokenHash.toString('hex'), now);
    if (!known || known.expiresAt <= now) return undefined;
    const full = new Date(now.getTime() + SESSION_MS);
    const isExtended = full.getTime() - known.expiresAt.getTime() >= EXTEND_EVERY_MS;
    if (isExtended) {
      await stores.sessions.extend(tokenHash, full);
      known.expiresAt = full;
    }
    return { tokenHash, caller: known.caller, expiresAt: known.expiresAt, isExtended };
  }

  async #lookUp(hash: string, now: Date): Promise<CachedSession | undefined> {
    try {
      const known = await this.#cache.get(hash);
      const isFresh = now.getTime() - known.readAt.getTime() < EXTEND_EVERY_MS;
      return isFresh ? known : await this.#cache.renew(hash);
    } catch (error) {
      if (error instanceof SessionNotFound) return undefined;
      throw error;
    }
  }

  async #read(tokenHash: Buffer): Promise<CachedSession> {
    const readAt = this.#deps.clock.now();
    const found = await this.#deps.stores.sessions.find(tokenHash, readAt);
    // Thrown, so that the cache does not keep it: guessed tokens must not evict known sessions.
    if (!found) throw new SessionNotFound();
    return { caller: callerFor(found.user), expiresAt: found.expiresAt, readAt };
  }

  /** Sessions that have ended or whose role has changed, with the refusal of each. Extends none of them. */
  async refusals(sessions: readonly Session[]): Promise<ReadonlyMap<Session, DomainError>> {
    const { stores, clock } = this.#deps;
    const hashes = sessions.map((session) => session.tokenHash);
    const found = await stores.sessions.findMany(hashes, clock.now());
    const users = new Map(found.map(({ tokenHash, user }) => [tokenHash.toString('hex'), user]));
    const refusals = new Map<Session, DomainError>();
    for (const session of sessions) {
      const user = users.get(session.tokenHash.toString('hex'));
      if (!user) refusals.set(session, unauthorized('The session is over. Sign in again.'));
      else if (JSON.stringify(callerFor(user)) !== JSON.stringify(session.caller)) {
        refusals.set(session, forbidden('Your role has changed. Ask again.'));
      }
    }
    return refusals;
  }

  async signOut({ tokenHash }: Session): Promise<void> {
    await this.#deps.uow.run(async (tx) => {
      await tx.sessions.remove(tokenHash);
      tx.announce('session', tokenHash.toString('hex'));
    });
  }

  /** The possible stored hashes of a password for an email. Takes the same time for an unknown email. */
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

function eventOf(action: AuditedEvent['action'], user: User, caller: AuditedEvent['caller']): AuditedEvent {
  return { action, accountId: user.accountId, caller, target: user.id };
}

function callerFor(user: User): MemberCaller | OperatorCaller {
  if (user.role === 'OPERATOR' || user.accountId === null) return { kind: 'operator', userId: user.id };
  return { kind: 'member', accountId: user.accountId, userId: user.id, role: user.role };
}

function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
