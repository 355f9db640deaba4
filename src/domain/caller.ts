/**
 * The callers of operations, and their access rights. Every operation takes the caller first and declares the access
 * that it requires. REST, GraphQL and the command line only identify the caller.
 *
 * **API key**: a program that uses REST. **Member**: a person of one account, who uses GraphQL. **Operator**: a person
 * who manages all accounts. **System**: the gateway itself and its command line.
 */
import { DomainError, forbidden } from './errors.ts';

export const SCOPES = [
  'SEND_SMS',
  'SEND_EMAIL',
  'SEND_PUSH',
  'SEND_WHATSAPP',
  'READ_MESSAGES',
  'READ_CONTACTS',
  'MANAGE_CONTACTS',
  'MANAGE_WEBHOOKS',
  'MANAGE_SENDERS',
  'FULL_ACCESS',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ENVIRONMENTS = ['production', 'sandbox'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/**
 * The rows that a caller may read and change: the rows of one account and one environment. If `environment` is
 * undefined, the rows of both environments (R199–R201). For any other row the caller gets `not_found`, and lists leave
 * out that row.
 *
 * Stores that serve API keys take a `Visibility` or an `AccountEnvironment` instead of an account id, so that no
 * operation can forget the environment.
 */
export interface Visibility {
  readonly accountId: string;
  readonly environment: Environment | undefined;
}
/** One environment of one account. Every message, contact, device, webhook and import belongs to one. */
export interface AccountEnvironment extends Visibility {
  readonly environment: Environment;
}

export const ACCOUNT_ROLES = ['OWNER', 'ADMIN', 'DEVELOPER', 'SUPPORT', 'VIEWER'] as const;
export type AccountRole = (typeof ACCOUNT_ROLES)[number];
export const OPERATOR_ROLES = ['OPERATOR', 'OPERATOR_READONLY'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];
export type Role = AccountRole | OperatorRole;

export interface ApiKeyCaller {
  readonly kind: 'api-key';
  readonly accountId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  readonly environment: Environment;
}
/** The only thing that the person may do in a restricted session. */
export type Restriction = 'change_password' | 'add_second_factor';

/** Limits of a person's session or access token, in addition to the role. */
interface PersonLimits {
  readonly restriction?: Restriction | undefined;
  /** True if the person was not verified within the last 10 minutes (R253). */
  readonly needsStepUp?: boolean | undefined;
  /** The device and the IP address of the request, for the audit log. */
  readonly from?: { readonly address: string; readonly device: string } | undefined;
  /** The operations that an access token may run, if the role also allows them. */
  readonly permissions?: readonly string[] | undefined;
}
export interface MemberCaller extends PersonLimits {
  readonly kind: 'member';
  readonly accountId: string;
  readonly userId: string;
  readonly role: AccountRole;
  /** Set if the caller is an operator who reads a customer's account (R290). */
  readonly inspection?: Inspection | undefined;
}
/** How an operator reads an account. Texts of messages are masked unless the operator gave a reason. */
export interface Inspection {
  readonly showsTexts: boolean;
}
export interface OperatorCaller extends PersonLimits {
  readonly kind: 'operator';
  readonly userId: string;
  /** True for the role OPERATOR_READONLY. */
  readonly isReadOnly?: boolean | undefined;
}
export interface SystemCaller {
  readonly kind: 'system';
  readonly name: string;
}
export type Caller = ApiKeyCaller | MemberCaller | OperatorCaller | SystemCaller;
export type AccountCaller = ApiKeyCaller | MemberCaller;

/**
 * The access that an operation requires. It refuses each kind of caller that it does not mention, except `system`,
 * which it never refuses.
 */
export interface Access {
  /** An API key needs one of these scopes or FULL_ACCESS. `any` allows every valid key. */
  readonly scopes?: readonly Scope[] | 'any';
  readonly roles?: readonly AccountRole[];
  /** True allows operators. `reading` allows also operators with the role OPERATOR_READONLY. */
  readonly operator?: boolean | 'reading';
  /** If true, the person must have been verified within the last 10 minutes (R253). */
  readonly stepUp?: boolean;
  /** The restricted sessions that may run the operation. */
  readonly whileRestricted?: readonly Restriction[];
}

/**
 * Returns why `access` refuses `caller`. Undefined if it allows the caller (R117). Every operation checks this before
 * its work, also when a GraphQL resolver runs it.
 */
export function refusal(access: Access, caller: Caller): DomainError | undefined {
  return refusalOfRole(access, caller) ?? refusalOfSession(access, caller);
}

function refusalOfSession(access: Access, caller: Caller): DomainError | undefined {
  if (caller.kind !== 'member' && caller.kind !== 'operator') return undefined;
  const { restriction } = caller;
  if (restriction !== undefined && !access.whileRestricted?.includes(restriction)) {
    return restrictedTo(restriction);
  }
  return access.stepUp ? stepUpRefusal(caller) : undefined;
}

/** Returns the refusal for everything that a restricted session may not do. */
export function restrictedTo(restriction: Restriction): DomainError {
  return forbidden(
    restriction === 'change_password'
      ? 'You are using a temporary password. Set your own with changePassword first.'
      : 'A second factor is required here. Add one with startTotp and confirmTotp first.',
  );
}

/** Throws `step_up_required` if the person was not verified within the last 10 minutes (R253). */
export function requireStepUp(caller: Caller): void {
  const refused = stepUpRefusal(caller);
  if (refused) throw refused;
}

function stepUpRefusal(caller: Caller): DomainError | undefined {
  if ((caller.kind !== 'member' && caller.kind !== 'operator') || !caller.needsStepUp) return undefined;
  if (caller.permissions !== undefined) return forbidden('An access token cannot do this. Sign in instead.');
  return new DomainError(
    'step_up_required',
    'Confirm that it is you: call stepUp with a code or your password, then try again.',
  );
}

function refusalOfRole(access: Access, caller: Caller): DomainError | undefined {
  switch (caller.kind) {
    case 'system':
      return undefined;
    case 'operator':
      if (!access.operator) return forbidden('This is for members of an account, not for operators.');
      if (!caller.isReadOnly || access.operator === 'reading') return undefined;
      return forbidden('Your role is OPERATOR_READONLY, which only reads.');
    case 'member':
      if (access.roles?.includes(caller.role)) return undefined;
      return forbidden(
        access.roles?.length
          ? `Your role is ${caller.role}. Required one of: ${access.roles.join(', ')}`
          : 'This is for platform operators.',
      );
    case 'api-key': {
      const { scopes } = access;
      if (scopes === undefined) return forbidden('This is for people who sign in, not for API keys.');
      if (scopes === 'any' || admittingScope(access, caller.scopes) !== undefined) return undefined;
      const named = [...scopes.filter((scope) => scope !== 'FULL_ACCESS'), 'FULL_ACCESS'];
      return forbidden(`Insufficient scopes. Required one of: ${named.join(', ')}`);
    }
  }
}

/**
 * Returns the scope of a key that gives the access. A narrow scope takes precedence over FULL_ACCESS. Undefined if no
 * scope gives the access, or if no scope is needed.
 */
export function admittingScope({ scopes: wanted }: Access, own: readonly Scope[]): Scope | undefined {
  if (wanted === undefined || wanted === 'any') return undefined;
  const named = wanted.find((scope) => scope !== 'FULL_ACCESS' && own.includes(scope));
  return named ?? own.find((scope) => scope === 'FULL_ACCESS');
}

/** Returns the name of a caller in the audit log and the ledger: `key:…`, `user:…` or `system:…`. */
export function actorOf(caller: Caller): string {
  switch (caller.kind) {
    case 'api-key':
      return `key:${caller.keyId}`;
    case 'system':
      return `system:${caller.name}`;
    default:
      return `user:${caller.userId}`;
  }
}

/** Returns the account of a caller. Throws `forbidden` for operators and the system, which have no account. */
export function accountIdOf(caller: Caller): string {
  if (caller.kind === 'api-key' || caller.kind === 'member') return caller.accountId;
  throw forbidden('Only a key or a member of an account can do this.');
}

/**
 * Returns the rows that a caller may see. A sandbox key sees only the sandbox. Throws `forbidden` for callers without
 * an account.
 */
export function visibilityOf(caller: Caller): Visibility {
  const isWalledIn = caller.kind === 'api-key' && caller.environment === 'sandbox';
  return { accountId: accountIdOf(caller), environment: isWalledIn ? 'sandbox' : undefined };
}

/**
 * Returns the environment of the objects that a caller creates. A key creates them in its own environment. A person may
 * choose one. Default: production.
 */
export function environmentOf(caller: Caller, chosen?: Environment): Environment {
  return caller.kind === 'api-key' ? caller.environment : (chosen ?? 'production');
}

/**
 * Returns the account and environment of the objects that a caller creates. Throws `forbidden` for callers without an
 * account.
 */
export function accountEnvironmentOf(caller: Caller, chosen?: Environment): AccountEnvironment {
  return { accountId: accountIdOf(caller), environment: environmentOf(caller, chosen) };
}

/**
 * Returns the environment that a list shows, if the list shows only one. Undefined if the caller may not see the
 * requested environment: the list is then empty.
 */
export function listedEnvironment(
  caller: Caller,
  asked: Environment | undefined,
): AccountEnvironment | undefined {
  const { accountId, environment } = visibilityOf(caller);
  const shown = asked ?? environmentOf(caller);
  return environment === undefined || environment === shown ? { accountId, environment: shown } : undefined;
}

/**
 * Returns the rows that a list shows, if the list shows both environments unless one is requested. Undefined if the
 * caller may not see the requested environment: the list is then empty.
 */
export function listedVisibility(caller: Caller, asked: Environment | undefined): Visibility | undefined {
  return asked === undefined ? visibilityOf(caller) : listedEnvironment(caller, asked);
}
