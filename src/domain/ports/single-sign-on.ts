import type { User } from '../accounts/user.ts';
import type { AccountRole } from '../caller.ts';

/**
 * A client that is registered at an identity provider. If `accountId` is null, the provider signs in operators.
 * Otherwise it signs in members of the account.
 */
export interface OpenIdClient {
  readonly accountId: string | null;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Values that bind an answer of the provider to its request. They are random, and each is used once. */
export interface OpenIdProof {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The facts about a person that a provider sent. Signature, issuer, audience, nonce and times have been checked. */
export interface OpenIdPerson {
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Token for later checks. Undefined if the provider gave none: then the person cannot be checked again. */
  readonly refreshToken: string | undefined;
}

/**
 * The result of a check. `present`: the provider still knows the person. `refused`: the provider does not know the
 * person or the token any more. `unknown`: the provider did not answer.
 */
export type OpenIdCheck =
  | { readonly outcome: 'present'; readonly person: OpenIdPerson }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unknown'; readonly reason: string };

/** OpenID Connect: the code flow with PKCE. */
export interface OpenId {
  /**
   * Returns the URL of the provider's sign-in page. With `isFresh`, the provider must let the person sign in again.
   * Throws `provider_error` if the provider cannot be reached.
   */
  begin(client: OpenIdClient, proof: OpenIdProof, redirectUri: string, isFresh: boolean): Promise<string>;
  /**
   * Checks the parameters that the provider added to the redirect URI, and returns the person. Throws `unauthorized` if
   * the answer is not valid. Throws `provider_error` if the provider cannot be reached.
   */
  finish(client: OpenIdClient, proof: OpenIdProof, callback: URL, isFresh: boolean): Promise<OpenIdPerson>;
  /** Asks the provider whether it still knows a person, with the person's refresh token. */
  check(client: OpenIdClient, subject: string, refreshToken: string): Promise<OpenIdCheck>;
}

/** Reads TXT records of the DNS. */
export interface TxtRecords {
  /** Returns the TXT records of a name. Empty if there are none. Throws `provider_error` if no name server answers. */
  find(name: string): Promise<readonly string[]>;
}

/** A rule that gives a role to people whose claim contains `value`. */
export interface RoleRule {
  readonly value: string;
  readonly role: AccountRole;
}

export interface RoleMapping {
  /** Name of the provider's claim that the rules read, such as `groups`. */
  readonly claim: string;
  readonly rules: readonly RoleRule[];
  /** The role of people to whom no rule applies. If it is null, they cannot sign in. */
  readonly defaultRole: AccountRole | null;
}

/** The single sign-on settings of an account. */
export interface SingleSignOn {
  readonly accountId: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecretSealed: string;
  readonly domain: string;
  /** The random part of the DNS record that proves the domain. */
  readonly domainToken: string;
  /** When the domain was proved. Null before that: nobody can sign in at the provider yet. */
  readonly domainProvedAt: Date | null;
  /** When a repeated check first found no DNS record. Null if the last check found it. */
  readonly domainMissingSince: Date | null;
  /** When the domain was lost, because its record is gone: nobody new signs in. Null otherwise (R445). */
  readonly domainLostAt: Date | null;
  readonly roleMapping: RoleMapping;
  /** True if members of the account can sign in only at the provider. */
  readonly required: boolean;
  /** The one owner who may sign in with a password even if single sign-on is required. */
  readonly breakGlassUserId: string;
}

/** A sign-in that has begun at a provider and is not finished. */
export interface SingleSignOnRequest {
  readonly stateHash: Buffer;
  /** Hash of a token. The browser that began the sign-in has the token in a cookie. */
  readonly browserHash: Buffer;
  readonly accountId: string | null;
  readonly issuer: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Path of the console that is opened after the sign-in. */
  readonly next: string;
  /** The session whose person is confirmed. Null for a sign-in. */
  readonly sessionHash: Buffer | null;
  readonly expiresAt: Date;
}

/** A person at a provider. Account, issuer and subject identify the person, and never the email address. */
export interface Identity {
  readonly id: string;
  readonly accountId: string | null;
  readonly issuer: string;
  readonly subject: string;
  readonly userId: string;
  /**
   * True if the provider decides about the person's role, because the person joined the account through the provider.
   */
  readonly managesRole: boolean;
  readonly refreshTokenSealed: string | null;
}

/** The proof of a domain that a check was about. */
export type DomainProof = Pick<SingleSignOn, 'accountId' | 'domainToken'>;

export interface SingleSignOnStore {
  find(accountId: string): Promise<SingleSignOn | undefined>;
  /** Returns the settings of the account that has proved this domain. */
  findByDomain(domain: string): Promise<SingleSignOn | undefined>;
  /** Stores settings. It does not store what repeated checks of the domain found. */
  save(settings: Omit<SingleSignOn, 'domainMissingSince' | 'domainLostAt'>): Promise<void>;
  /** Records the proof and the next check. Returns false if another account has proved the domain. */
  proveDomain(accountId: string, at: Date, checkAt: Date): Promise<boolean>;
  /** Ends the proofs that other accounts have lost of this account's domain. Returns the ids of these accounts. */
  releaseDomain(accountId: string): Promise<readonly string[]>;
  /**
   * Returns the settings with a proved domain whose next check is due. Moves the check to `nextAt`, so that no other
   * process returns them.
   */
  takeDueDomains(now: Date, nextAt: Date, most: number): Promise<readonly SingleSignOn[]>;
  /** Records that the domain has its record. Returns false if the domain was changed. */
  keepDomain(settings: DomainProof, checkAt: Date): Promise<boolean>;
  /** Records that a check found no record. */
  missDomain(settings: DomainProof, at: Date): Promise<void>;
  /** Records that the domain is lost. Returns false if it was lost before, or if the domain was changed. */
  loseDomain(settings: DomainProof, at: Date): Promise<boolean>;
  /** Removes the settings, the identities of their provider, and its sessions. */
  remove(accountId: string): Promise<void>;
  /** Removes the account's identities of other issuers than this one, and their sessions. */
  removeOtherIdentities(accountId: string, issuer: string): Promise<void>;
  /**
   * Ends the sessions of the account's members that were not started by single sign-on. The sessions of `keptUserId`
   * stay.
   */
  endOtherSessions(accountId: string, keptUserId: string): Promise<void>;
  /** True if the person must use single sign-on. */
  isRequiredOf(userId: string): Promise<boolean>;
  /** Stores a request. Deletes expired ones. */
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
  /**
   * Returns identities whose next check is due, at most `mostOfAccount` of one account. Moves the check to `nextAt`, so
   * that no other process returns them. Leaves out people without a living session or access token.
   */
  takeDue(
    now: Date,
    nextAt: Date,
    most: number,
    mostOfAccount: number,
  ): Promise<readonly { readonly identity: Identity; readonly user: User }[]>;
  /**
   * Ends an identity and its sessions, and revokes the access tokens of the person. The identity works again when the
   * person signs in at the provider.
   */
  endIdentity(id: string, at: Date): Promise<void>;
  removeIdentity(id: string): Promise<void>;
}
