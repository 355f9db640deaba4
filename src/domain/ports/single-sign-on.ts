import type { User } from '../accounts/user.ts';
import type { AccountRole } from '../caller.ts';

/** A client at an identity provider: at that of the operators, if `accountId` is null, or at that of an account. */
export interface OpenIdClient {
  readonly accountId: string | null;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** What binds an answer of the provider to the request for it. All are random and used once. */
export interface OpenIdProof {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** What a provider says about a person. Its signature, issuer, audience, nonce and times have been checked. */
export interface OpenIdPerson {
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Undefined if the provider gives none: then the person cannot be checked again. */
  readonly refreshToken: string | undefined;
}

/** `refused`: the provider does not know the person or the token any more. `unknown`: it could not be asked. */
export type OpenIdCheck =
  | { readonly outcome: 'present'; readonly person: OpenIdPerson }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unknown'; readonly reason: string };

/** OpenID Connect: the code flow with PKCE. */
export interface OpenId {
  /**
   * Returns the URL of the provider's sign-in page. With `isFresh`, the provider must ask the person again. Throws
   * `provider_error` if the provider cannot be reached.
   */
  begin(client: OpenIdClient, proof: OpenIdProof, redirectUri: string, isFresh: boolean): Promise<string>;
  /**
   * Takes what the provider added to the redirect URI. Throws `unauthorized` if anything about the answer is not
   * right, and `provider_error` if the provider cannot be reached.
   */
  finish(client: OpenIdClient, proof: OpenIdProof, callback: URL, isFresh: boolean): Promise<OpenIdPerson>;
  /** Asks again about a person with their refresh token. */
  check(client: OpenIdClient, subject: string, refreshToken: string): Promise<OpenIdCheck>;
}

/** Reads TXT records of the DNS. */
export interface TxtRecords {
  /** Returns the records of a name, none if there are none. Throws `provider_error` if no name server answers. */
  find(name: string): Promise<readonly string[]>;
}

/** Gives people with `value` in the claim the role. */
export interface RoleRule {
  readonly value: string;
  readonly role: AccountRole;
}

export interface RoleMapping {
  /** The claim of the provider that has the values, such as `groups`. */
  readonly claim: string;
  readonly rules: readonly RoleRule[];
  /** The role of people to whom no rule applies. If it is null, they cannot sign in. */
  readonly defaultRole: AccountRole | null;
}

/** The single sign-on of an account. */
export interface SingleSignOn {
  readonly accountId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecretSealed: string;
  readonly domain: string;
  /** The random part of the DNS record that proves the domain. */
  readonly domainToken: string;
  /** Null until the domain is proved. Until then nobody signs in by it. */
  readonly domainProvedAt: Date | null;
  readonly roleMapping: RoleMapping;
  /** If true, the account's members cannot sign in otherwise. */
  readonly required: boolean;
  /** The owner who may sign in with a password although it is required. */
  readonly breakGlassUserId: string;
}

/** A sign-in that is under way at a provider. */
export interface SingleSignOnRequest {
  readonly stateHash: Buffer;
  /** The browser that began it has this token in a cookie. */
  readonly browserHash: Buffer;
  readonly accountId: string | null;
  readonly issuer: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Path of the console to open afterwards. */
  readonly next: string;
  /** The session that it confirms. Null for a sign-in. */
  readonly sessionHash: Buffer | null;
  readonly expiresAt: Date;
}

/** A person at a provider: (account, issuer, subject) names one, never the email address. */
export interface Identity {
  readonly id: string;
  readonly accountId: string | null;
  readonly issuer: string;
  readonly subject: string;
  readonly userId: string;
  /** True if the provider decides about the role, because it brought the person. */
  readonly managesRole: boolean;
  readonly refreshTokenSealed: string | null;
}

export interface SingleSignOnStore {
  find(accountId: string): Promise<SingleSignOn | undefined>;
  /** Returns the single sign-on for which the domain was proved. */
  findByDomain(domain: string): Promise<SingleSignOn | undefined>;
  save(settings: SingleSignOn): Promise<void>;
  /** Records the proof. Returns false if another account has proved the domain. */
  proveDomain(accountId: string, at: Date): Promise<boolean>;
  /** Removes the settings, and the identities and sessions that came by them. */
  remove(accountId: string): Promise<void>;
  /** Removes the account's identities of other issuers than this one, and their sessions. */
  removeOtherIdentities(accountId: string, issuer: string): Promise<void>;
  /** Ends the sessions of the account's members that did not come by single sign-on, except those of `keptUserId`. */
  endOtherSessions(accountId: string, keptUserId: string): Promise<void>;
  /** True if the person must use single sign-on. */
  isRequiredOf(userId: string): Promise<boolean>;
  /** Stores a request and forgets expired ones. */
  insertRequest(request: SingleSignOnRequest, now: Date): Promise<void>;
  /** Removes and returns the request with this state that this browser began. */
  takeRequest(stateHash: Buffer, browserHash: Buffer, now: Date): Promise<SingleSignOnRequest | undefined>;
  /** Returns the identity with its person, who may have been removed. Locks both. */
  lockIdentity(
    accountId: string | null,
    issuer: string,
    subject: string,
  ): Promise<{ readonly identity: Identity; readonly isRemoved: boolean } | undefined>;
  /** Returns the subjects that the issuer has for a person. */
  subjectsOf(userId: string, issuer: string): Promise<readonly string[]>;
  /** Stores an identity, or the person, token and time of a known one. */
  saveIdentity(identity: Identity, checkedAt: Date, checkAt: Date): Promise<void>;
  /** Takes identities whose next check is due, and moves it to `nextAt`, so that no other process takes them. */
  takeDue(
    now: Date,
    nextAt: Date,
    most: number,
  ): Promise<readonly { readonly identity: Identity; readonly user: User }[]>;
  /** Ends an identity and its sessions, until the person signs in by it again. */
  endIdentity(id: string, at: Date): Promise<void>;
  removeIdentity(id: string): Promise<void>;
}
