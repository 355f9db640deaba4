import { createHash } from 'node:crypto';
import { revokeBeyondRole } from '../accounts/keys-beyond-role.ts';
import { checkEmail, newUser } from '../accounts/new-user.ts';
import { replacePassword } from '../accounts/replace-password.ts';
import type { Client, Session, Sessions, SignedIn } from '../accounts/sessions.ts';
import type { User } from '../accounts/user.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Role, SystemCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, unauthorized, validationError } from '../errors.ts';
import { shownClient } from '../ip-network.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { Identity, OpenIdClient, OpenIdPerson, SingleSignOn } from '../ports/single-sign-on.ts';
import type { Tx } from '../ports/stores.ts';
import type { SecurityWatch } from '../security/security-watch.ts';
import { hashToken } from './access-token.ts';
import {
  CHECK_AGAIN_MS,
  CHECK_EVERY_MS,
  CHECKED_FOR_MINUTES,
  clientOfAccount,
  domainOf,
  mappedRole,
  operatorRole,
  REQUEST_MS,
  verifiedEmail,
} from './single-sign-on.ts';

/** Path of the console page to which the providers redirect after a sign-in. `providerName` follows it. */
const CALLBACK_PATH = '/console/single-sign-on';
/** Number of sign-ins that one IP address may begin within 15 minutes. Each causes a request to a provider. */
const BEGUN_MAX = 40;
const BEGUN_WINDOW_MS = 15 * 60_000;
const NEXT_MAX_LENGTH = 1_000;
const CALLBACK_MAX_LENGTH = 8_000;
/** Matches a path of the console. It excludes `//host` and `/\host`, because browsers take them for another site. */
const OWN_PATH = /^\/(?![/\\])[^\s\\]*$/;
/** Largest number of people who are checked at the same time, in total and of one account. */
const CHECKED_AT_ONCE = 20;
const CHECKED_OF_ACCOUNT = 5;
/** A round begins no new checks after this time, in ms. A stopping process waits for the end of the round. */
const CHECKED_FOR_MS = 20_000;
const BY_PROVIDER: SystemCaller = { kind: 'system', name: 'single-sign-on' };

type Needs = Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids' | 'passwords' | 'secrets' | 'openId'> & {
  readonly security: SecurityWatch;
  readonly settings: Pick<Dependencies['settings'], 'operatorProvider'>;
  /** External URL of the gateway. */
  readonly publicUrl: () => string;
};

/** A provider. It signs in either operators or the members of one account. */
interface Provider {
  readonly client: OpenIdClient;
  /** The settings of the account. Undefined for the provider of the operators. */
  readonly ofAccount: SingleSignOn | undefined;
  roleOf(claims: OpenIdPerson['claims']): Role | undefined;
}

/** A provider that the sign-in page offers for an email address. */
export interface SignInOffer {
  /** True for the provider of the operators. */
  readonly isForOperators: boolean;
  /** Host name of the provider. */
  readonly host: string;
}

/** Signs people in at their identity provider, and checks later that the provider still knows them (R355–R358). */
export class SingleSignOnSignIn {
  readonly #deps: Needs;
  readonly #sessions: Sessions;

  constructor(deps: Needs, sessions: Sessions) {
    this.#deps = deps;
    this.#sessions = sessions;
  }

  /**
   * Returns the providers for the sign-in page. They depend only on the domain of the email address, so they do not
   * reveal who has an account.
   */
  async offers(email: string | undefined): Promise<readonly SignInOffer[]> {
    const operators = this.#deps.settings.operatorProvider;
    const found = email && (await this.#deps.stores.singleSignOn.findByDomain(domainOf(email)));
    return [
      ...(found ? [{ isForOperators: false, host: new URL(found.issuer).host }] : []),
      ...(operators ? [{ isForOperators: true, host: new URL(operators.issuer).host }] : []),
    ];
  }

  /**
   * Begins a sign-in. Returns the URL of the provider, and the token for a cookie of this browser. Only a browser with
   * this cookie can finish the sign-in. Without an email address, uses the provider of the operators. With `session`,
   * starts no new session but confirms the person of that session (R253). Throws `validation_error` if `next` is not a
   * path of the console.
   */
  async begin(
    { email, next, session }: { email?: string | undefined; next: string; session?: Session | undefined },
    client: Client,
  ): Promise<{ readonly url: string; readonly browserToken: string; readonly expiresAt: Date }> {
    const { stores, clock, ids, openId } = this.#deps;
    if (next.length > NEXT_MAX_LENGTH || !OWN_PATH.test(next))
      throw validationError([{ path: 'next', message: 'must be a path of the console, such as /messages' }]);
    await this.#countBegun(client.address);
    const provider = session ? await this.#providerOfSession(session) : await this.#providerFor(email);
    const random = () => ids.random(32).toString('base64url');
    const proof = { state: random(), nonce: random(), codeVerifier: random() };
    const browserToken = random();
    const url = await openId.begin(
      provider.client,
      proof,
      this.#redirectUri(provider.client.accountId),
      session !== undefined,
    );
    const now = clock.now();
    const expiresAt = new Date(now.getTime() + REQUEST_MS);
    await stores.singleSignOn.insertRequest(
      {
        stateHash: hashToken(proof.state),
        browserHash: hashToken(browserToken),
        accountId: provider.client.accountId,
        issuer: provider.client.issuer,
        nonce: proof.nonce,
        codeVerifier: proof.codeVerifier,
        next,
        sessionHash: session?.tokenHash ?? null,
        expiresAt,
      },
      now,
    );
    return { url, browserToken, expiresAt };
  }

  /**
   * Finishes a sign-in with the parameters that the provider added to the callback URL. `returnedTo` is the name at the
   * end of that URL's path. Returns the new session, or no session after a confirmation. Throws `unauthorized` if the
   * sign-in was begun in another browser or at another provider. Also throws it if the answer was used before, or if
   * OpenID Connect does not allow the answer.
   */
  async finish(
    returnedTo: string,
    query: string,
    browserToken: string | undefined,
    session: Session | undefined,
    client: Client,
  ): Promise<{ readonly signedIn: SignedIn | undefined; readonly next: string }> {
    const { stores, clock, openId } = this.#deps;
    const state = new URLSearchParams(query.slice(0, CALLBACK_MAX_LENGTH)).get('state');
    const request =
      state !== null && browserToken !== undefined && query.length <= CALLBACK_MAX_LENGTH
        ? await stores.singleSignOn.takeRequest(hashToken(state), hashToken(browserToken), clock.now())
        : undefined;
    try {
      if (!request || state === null) {
        throw unauthorized(
          'This sign-in was begun in another browser, was finished already, or took too long. Begin again.',
        );
      }
      // A hostile provider could redirect the browser to another provider. The gateway would then send the code of that
      // other provider to the hostile one. But each provider has its own redirect URI. So the code of another provider
      // arrives at another path, and is refused here.
      if (returnedTo !== providerName(request.accountId))
        throw unauthorized(
          'Another provider answered than the one where this sign-in was begun. Begin again.',
        );
      const provider = await this.#providerOf(request.accountId, request.issuer);
      if (!provider) throw unauthorized('The single sign-on was changed meanwhile. Begin again.');
      const { nonce, codeVerifier, sessionHash, next } = request;
      const callback = new URL(`${this.#redirectUri(request.accountId)}?${query.replace(/^\?/, '')}`);
      const isFresh = sessionHash !== null;
      const person = await openId.finish(provider.client, { state, nonce, codeVerifier }, callback, isFresh);
      if (isFresh) {
        if (!session?.tokenHash.equals(sessionHash)) throw unauthorized('Sign in again.');
        await this.#confirm(session, provider, person);
        return { signedIn: undefined, next };
      }
      const { user, passwordHash, identityId } = await this.#enter(provider, person, client);
      const signedIn = await this.#sessions.openSingleSignOn(
        { user, passwordHash },
        client,
        identityId,
        person.refreshToken === undefined ? CHECKED_FOR_MINUTES * 60_000 : undefined,
      );
      return { signedIn, next };
    } catch (error) {
      if (error instanceof DomainError && error.code === 'unauthorized') {
        this.#deps.security.recordRefusal({
          kind: 'single_sign_on',
          reason: 'refused',
          address: shownClient(client.address),
        });
      }
      throw error;
    }
  }

  /**
   * Checks people at the provider where they signed in, each about every half hour. Ends the sessions of people whom
   * the provider no longer knows or who have no role any more. Applies changes of roles. If the provider does not
   * answer, the check is repeated. The sessions stop working 55 minutes after the last successful check (R358).
   */
  async check(): Promise<void> {
    const { stores, clock } = this.#deps;
    const until = clock.now().getTime() + CHECKED_FOR_MS;
    let now = clock.now();
    do {
      const again = new Date(now.getTime() + CHECK_AGAIN_MS);
      const due = await stores.singleSignOn.takeDue(now, again, CHECKED_AT_ONCE, CHECKED_OF_ACCOUNT);
      if (due.length === 0) return;
      await Promise.all(due.map(({ identity, user }) => this.#check(identity, user)));
      now = clock.now();
    } while (now.getTime() < until);
  }

  async #check(identity: Identity, user: User): Promise<void> {
    const { uow, clock, secrets, openId } = this.#deps;
    const provider = await this.#providerOf(identity.accountId, identity.issuer);
    if (!provider || identity.refreshTokenSealed === null) {
      await this.#end(identity, user, 'the single sign-on is not set up any more');
      return;
    }
    const refreshToken = secrets.open(identity.refreshTokenSealed);
    const checked = await openId.check(provider.client, identity.subject, refreshToken);
    if (checked.outcome === 'unknown') return;
    if (checked.outcome === 'refused') {
      await this.#end(identity, user, checked.reason);
      return;
    }
    const { person } = checked;
    const role = provider.roleOf(person.claims);
    if (role === undefined) {
      await this.#end(identity, user, 'the provider gives no role any more');
      return;
    }
    await uow.run(async (tx) => {
      const now = clock.now();
      const kept = { ...identity, refreshTokenSealed: this.#sealed(person.refreshToken) };
      await tx.singleSignOn.saveIdentity(kept, now, new Date(now.getTime() + CHECK_EVERY_MS));
      if (identity.managesRole) await this.#setRole(tx, user, role);
    });
  }

  async #end(identity: Identity, user: User, reason: string): Promise<void> {
    await this.#deps.uow.run(async (tx) => {
      await tx.singleSignOn.endIdentity(identity.id, this.#deps.clock.now());
      tx.announce('session', ALL_IDS);
      await recordChange(tx, this.#deps, BY_PROVIDER, {
        accountId: user.accountId,
        action: 'member.endSingleSignOn',
        target: user.id,
        after: { reason },
      });
    });
  }

  /**
   * Returns the person of an identity. At the first sign-in, links the identity to a person or creates one (R355,
   * R357).
   */
  async #enter(
    provider: Provider,
    { subject, claims, refreshToken }: OpenIdPerson,
    client: Client,
  ): Promise<{ user: User; passwordHash: string; identityId: string }> {
    const { uow, clock, ids } = this.#deps;
    const { accountId, issuer } = provider.client;
    const email = verifiedEmail(claims);
    if (email === undefined)
      throw unauthorized('The provider has not verified your email address, so it is not believed.');
    checkEmail(email);
    const domain = provider.ofAccount?.domain;
    if (domain !== undefined && domainOf(email) !== domain)
      throw unauthorized(`Only email addresses of ${domain} sign in by this provider.`);
    const role = provider.roleOf(claims);
    if (role === undefined)
      throw unauthorized('The provider gives you no role here. Ask who manages your access.');
    // Compute the hash before the transaction, because it takes long. Nobody knows this password.
    const fresh = await newUser(this.#deps, { email, role, accountId }, false);
    return uow.run(async (tx) => {
      const now = clock.now();
      if (accountId !== null) await tx.users.lockMembers(accountId);
      const known = await tx.singleSignOn.lockIdentity(accountId, issuer, subject);
      const user =
        known && !known.isRemoved
          ? (await tx.users.find(known.identity.userId))?.user
          : await this.#linkOrJoin(tx, provider, fresh, known !== undefined, client);
      if (!user) throw unauthorized('Sign in again.');
      const identity: Identity = {
        id: known?.identity.id ?? ids.uuid(),
        accountId,
        issuer,
        subject,
        userId: user.id,
        managesRole: known && !known.isRemoved ? known.identity.managesRole : user.id === fresh.user.id,
        refreshTokenSealed: this.#sealed(refreshToken),
      };
      await tx.singleSignOn.saveIdentity(identity, now, new Date(now.getTime() + CHECK_EVERY_MS));
      if (identity.managesRole) await this.#setRole(tx, user, role);
      const entered = await tx.users.find(user.id);
      if (!entered) throw unauthorized('Sign in again.');
      return { ...entered, identityId: identity.id };
    });
  }

  /**
   * Returns the person with the email address, or creates one. A person who was removed from the account can only
   * return by an invitation.
   */
  async #linkOrJoin(
    tx: Tx,
    provider: Provider,
    fresh: Awaited<ReturnType<typeof newUser>>,
    wasRemoved: boolean,
    client: Client,
  ): Promise<User> {
    const { clock } = this.#deps;
    const { accountId, issuer } = provider.client;
    const { email, role } = fresh.user;
    if (provider.ofAccount && provider.ofAccount.domainLostAt !== null) {
      throw unauthorized(
        `The DNS record of ${provider.ofAccount.domain} is gone, so nobody new can sign in. Tell your owner.`,
      );
    }
    const isSame = (user: User) =>
      user.accountId === accountId && user.email.toLowerCase() === email.toLowerCase();
    const same = (await tx.users.withEmail(email)).find(isSame);
    const from = { issuer, address: shownClient(client.address) };
    if (same) {
      const subjects = await tx.singleSignOn.subjectsOf(same.id, issuer);
      // The person with this email address already has another identity at the provider.
      if (subjects.length > 0)
        throw unauthorized('Another person of the provider has this email address here. Ask your owner.');
      if (same.acceptedAt === null) {
        // Replacing the password ends the link and the one-time password of the invitation.
        await replacePassword(tx, this.#deps, same.id, { hash: fresh.hash, isOneTime: false });
        await tx.users.accept(same.id, clock.now());
      }
      await tx.users.proveEmail(same.id, clock.now());
      await recordChange(tx, this.#deps, BY_PROVIDER, {
        accountId,
        action: 'member.linkSingleSignOn',
        target: same.id,
        after: from,
      });
      return same;
    }
    if (wasRemoved)
      throw unauthorized('You were removed here. Ask an owner to invite you; then sign in again.');
    const now = clock.now();
    const user = {
      ...fresh.user,
      mustChangePassword: false,
      invitedAt: accountId === null ? null : now,
      acceptedAt: now,
      emailProvedAt: now,
    };
    if (!(await tx.users.insert(user, fresh.hash)))
      throw unauthorized('The email address is in use here already.');
    await recordChange(tx, this.#deps, BY_PROVIDER, {
      accountId,
      action: 'member.join',
      target: user.id,
      after: { email, role, ...from },
    });
    return user;
  }

  /**
   * Gives a person the role that the provider names. Two people stay owners: the only owner, and the owner who may
   * still sign in with a password.
   */
  async #setRole(tx: Tx, user: User, role: Role): Promise<void> {
    if (user.role === role) return;
    if (user.accountId !== null) {
      const members = await tx.users.lockMembers(user.accountId);
      const settings = await tx.singleSignOn.find(user.accountId);
      if (settings?.required && settings.breakGlassUserId === user.id) return;
      const owners = members.filter((member) => member.role === 'OWNER' && member.acceptedAt !== null);
      if (owners.every(({ id }) => id === user.id) && owners.length > 0) return;
      await tx.apiKeys.lockAccount(user.accountId);
    }
    await tx.users.setRole(user.id, role);
    tx.announce('session', ALL_IDS);
    await recordChange(tx, this.#deps, BY_PROVIDER, {
      accountId: user.accountId,
      action: 'member.setRole',
      target: user.id,
      before: { role: user.role },
      after: { role },
    });
    if (user.accountId !== null && role !== 'OPERATOR' && role !== 'OPERATOR_READONLY')
      await revokeBeyondRole(tx, this.#deps, BY_PROVIDER, user, user.accountId, role);
  }

  async #confirm(session: Session, provider: Provider, person: OpenIdPerson): Promise<void> {
    const { accountId, issuer } = provider.client;
    const known = await this.#deps.uow.run((tx) =>
      tx.singleSignOn.lockIdentity(accountId, issuer, person.subject),
    );
    if (known?.identity.userId !== session.caller.userId)
      throw unauthorized('The provider confirmed another person than the one who is signed in.');
    await this.#sessions.confirm(session);
  }

  #sealed(refreshToken: string | undefined): string | null {
    return refreshToken === undefined ? null : this.#deps.secrets.seal(refreshToken);
  }

  #redirectUri(accountId: string | null): string {
    return `${this.#deps.publicUrl()}${CALLBACK_PATH}/${providerName(accountId)}`;
  }

  async #providerFor(email: string | undefined): Promise<Provider> {
    const found =
      email === undefined
        ? this.#operators()
        : this.#ofAccount(await this.#deps.stores.singleSignOn.findByDomain(domainOf(email)));
    if (found) return found;
    const message =
      email === undefined
        ? 'there is no single sign-on for operators; set OIDC_ISSUER'
        : 'no single sign-on is set up for its domain; sign in with your password';
    throw validationError([{ path: 'email', message }]);
  }

  async #providerOfSession(session: Session): Promise<Provider> {
    const { caller } = session;
    const accountId = caller.kind === 'member' ? caller.accountId : null;
    const found =
      accountId === null
        ? this.#operators()
        : this.#ofAccount(await this.#deps.stores.singleSignOn.find(accountId));
    if (session.isToken || !found)
      throw validationError([{ path: 'confirm', message: 'you have no single sign-on to confirm with' }]);
    return found;
  }

  /** Returns the provider at which a sign-in was begun. Undefined if it is no longer configured. */
  async #providerOf(accountId: string | null, issuer: string): Promise<Provider | undefined> {
    const found =
      accountId === null
        ? this.#operators()
        : this.#ofAccount(await this.#deps.stores.singleSignOn.find(accountId));
    return found?.client.issuer === issuer ? found : undefined;
  }

  #operators(): Provider | undefined {
    const { operatorProvider } = this.#deps.settings;
    return (
      operatorProvider && {
        client: { accountId: null, ...operatorProvider },
        ofAccount: undefined,
        roleOf: (claims) => operatorRole(claims, operatorProvider.roleClaim),
      }
    );
  }

  #ofAccount(settings: SingleSignOn | undefined): Provider | undefined {
    if (!settings || settings.domainProvedAt === null) return undefined;
    return {
      client: clientOfAccount(settings, (sealed) => this.#deps.secrets.open(sealed)),
      ofAccount: settings,
      roleOf: (claims) => mappedRole(claims, settings.roleMapping),
    };
  }

  /** Throws `rate_limit_exceeded` if the IP address has begun too many sign-ins. */
  #countBegun(address: string): Promise<void> {
    const { uow, clock, ids } = this.#deps;
    const bucket = createHash('sha256').update(`single sign-on from ${address}`).digest('base64url');
    return uow.run(async (tx) => {
      const now = clock.now();
      const since = new Date(now.getTime() - BEGUN_WINDOW_MS);
      const times = (await tx.signInFailures.lock([bucket], since)).get(bucket) ?? [];
      const oldest = times.at(-BEGUN_MAX);
      if (oldest !== undefined) {
        const seconds = Math.max(1, Math.ceil((oldest.getTime() + BEGUN_WINDOW_MS - now.getTime()) / 1000));
        const message = `Too many sign-ins were begun. Try again in ${Math.ceil(seconds / 60)} minutes.`;
        throw new DomainError('rate_limit_exceeded', message, undefined, seconds);
      }
      await tx.signInFailures.add(ids.uuid(), [bucket], now);
    });
  }
}

/** Returns the end of the redirect URI of a provider. Every provider has a different one. */
const providerName = (accountId: string | null): string => accountId ?? 'operators';
