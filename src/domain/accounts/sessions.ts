/**
 * A **session** stands for a person who signed in. Its token is 32 random bytes that only the person holds; the
 * store has the SHA-256. It ends 12 hours after its last use, on sign-out, and when the password changes or the
 * person is removed.
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
 * A session in use is prolonged this often at the most: reading should not write. It is also read
 * again this often, so that a change which was not announced holds within a minute.
 */
const EXTEND_EVERY_MS = 60_000;
/** Passwords that may wait to be checked in a process. */
const CHECKS_WAITING_MAX = 200;

interface KnownUser {
  readonly user: User;
  readonly passwordHash: string;
}
interface KnownSession {
  readonly caller: MemberCaller | OperatorCaller;
  expiresAt: Date;
  readonly readAt: Date;
}
class UnknownSession extends Error {
  override readonly name = 'UnknownSession';
}
export interface SignedIn {
  readonly token: string;
  readonly expiresAt: Date;
  readonly user: User;
  readonly session: Session;
}
/** A session as it was found; `isExtended` when this use moved its end. */
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

/** People whose sign-ins failed, remembered so that a lockout can be told to their account without looking for them. */
const FAILED_MAX = 1_000;
/** Who acts for somebody who has not shown who they are. */
const SIGN_IN: SystemCaller = { kind: 'system', name: 'sign-in' };

/** Signing in and out, and knowing who a token stands for. */
export class Sessions {
  readonly #deps: SessionDependencies;
  readonly #attempts: SignInAttempts;
  /** By the hash of their token, in hex. */
  readonly #known: Cache<KnownSession>;
  /** By email in small letters, those that failed longest ago first. */
  readonly #failed = new Map<string, User>();
  #unknownHash: Promise<string> | undefined;

  constructor(deps: SessionDependencies) {
    this.#deps = deps;
    this.#known = deps.createCache('session', (hash) => this.#read(Buffer.from(hash, 'hex')));
    this.#attempts = new SignInAttempts(deps);
  }

  /**
   * A new session for the right password. Throws `unauthorized`, the same for an unknown email and a wrong
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
    // The check took its time: a password that was replaced meanwhile, since others know it, opens nothing.
    const row = { tokenHash, userId: user.id, passwordHash, createdAt: now, expiresAt };
    if (!(await stores.sessions.insert(row))) throw wrong();
    if (await clock.agrees())
      await stores.sessions.forgetOld(now, new Date(now.getTime() - FAILURES_WINDOW_MS));
    this.#deps.security.recordAudited(eventOf('member.signIn', user, session.caller), shownClient(address));
    return { token, expiresAt, user, session };
  }

  /**
   * The person with the email whose password this is, with what is stored of it; bounded as `signIn` is. `userId` asks
   * of one person.
   */
  async checkPassword(
    email: string,
    password: string,
    address: string,
    userId?: string,
  ): Promise<KnownUser | undefined> {
    const check = async () => {
      const hashes = await this.#hashesOf(email, password);
      const found = await this.#deps.stores.users.findByPassword(email, hashes, userId);
      // The store takes more letters for the same than failures are counted by: each spelling would have its own ten.
      if (found?.user.email.toLowerCase() === email.toLowerCase()) return found;
      this.#noteFailure('password', await this.#concernedBy(email, userId), address);
      return undefined;
    };
    try {
      // Any account may invite any email, and would have ten more guesses at another's password with each sign-in.
      return await this.#attempts.judge(email, address, check, ({ user }) => user.invitedAt === null);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'rate_limit_exceeded') {
        this.#noteFailure('lockout', this.#failed.get(email.toLowerCase()), address);
      }
      throw error;
    }
  }

  /**
   * Whose account is told of a sign-in that failed. Tenants do not share: an account that has invited somebody learns
   * nothing of their sign-ins elsewhere, so it is whom an operator added, or the only one who has accepted, or nobody.
   */
  async #concernedBy(email: string, userId: string | undefined): Promise<User | undefined> {
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

  /** The session of a token, prolonged by this use; undefined for a token that is unknown or over. */
  async find(token: string): Promise<Session | undefined> {
    const { stores, clock } = this.#deps;
    const tokenHash = hashToken(token);
    const now = clock.now();
    const known = await this.#look(tokenHash.toString('hex'), now);
    if (!known || known.expiresAt <= now) return undefined;
    const full = new Date(now.getTime() + SESSION_MS);
    const isExtended = full.getTime() - known.expiresAt.getTime() >= EXTEND_EVERY_MS;
    if (isExtended) {
      await stores.sessions.extend(tokenHash, full);
      known.expiresAt = full;
    }
    return { tokenHash, caller: known.caller, expiresAt: known.expiresAt, isExtended };
  }

  async #look(hash: string, now: Date): Promise<KnownSession | undefined> {
    try {
      const known = await this.#known.get(hash);
      const isFresh = now.getTime() - known.readAt.getTime() < EXTEND_EVERY_MS;
      return isFresh ? known : await this.#known.renew(hash);
    } catch (error) {
      if (error instanceof UnknownSession) return undefined;
      throw error;
    }
  }

  async #read(tokenHash: Buffer): Promise<KnownSession> {
    const readAt = this.#deps.clock.now();
    const found = await this.#deps.stores.sessions.find(tokenHash, readAt);
    // Thrown, not returned: guessed tokens must not push known sessions out of the cache.
    if (!found) throw new UnknownSession();
    return { caller: callerFor(found.user), expiresAt: found.expiresAt, readAt };
  }

  /** Why sessions do not hold any more: they are over, or stand for another role by now. Prolongs none of them. */
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

  /** What is stored of the password where it is right. Takes as long for an email that nobody has as for one that several have. */
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
