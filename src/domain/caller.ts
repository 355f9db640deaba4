/**
 * Who acts. Every operation takes a caller first and names the access it asks for; edges only say who called.
 *
 * **API key**: a program, on REST. **Member**: a person of one account, on GraphQL. **Operator**: a person above
 * accounts. **System**: the gateway itself and its command line, trusted by whoever runs the process.
 */
import { type DomainError, forbidden } from './errors.ts';

export const SCOPES = [
  'SEND_SMS',
  'SEND_EMAIL',
  'SEND_PUSH',
  'SEND_WHATSAPP',
  'READ_MESSAGES',
  'READ_CONTACTS',
  'MANAGE_CONTACTS',
  'MANAGE_WEBHOOKS',
  'FULL_ACCESS',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ENVIRONMENTS = ['production', 'sandbox'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** One account, and of it one environment, or both where `environment` is undefined: what a caller reaches. */
export interface Visibility {
  readonly accountId: string;
  readonly environment: Environment | undefined;
}
/** One environment of one account: where a thing belongs. */
export interface AccountEnvironment extends Visibility {
  readonly environment: Environment;
}

export const ACCOUNT_ROLES = ['OWNER', 'ADMIN', 'DEVELOPER', 'VIEWER'] as const;
export type AccountRole = (typeof ACCOUNT_ROLES)[number];
export type Role = AccountRole | 'OPERATOR';

export interface ApiKeyCaller {
  readonly kind: 'api-key';
  readonly accountId: string;
  readonly keyId: string;
  readonly scopes: readonly Scope[];
  readonly environment: Environment;
}
export interface MemberCaller {
  readonly kind: 'member';
  readonly accountId: string;
  readonly userId: string;
  readonly role: AccountRole;
}
export interface OperatorCaller {
  readonly kind: 'operator';
  readonly userId: string;
}
export interface SystemCaller {
  readonly kind: 'system';
  readonly name: string;
}
export type Caller = ApiKeyCaller | MemberCaller | OperatorCaller | SystemCaller;
/** A caller that belongs to exactly one account. */
export type AccountCaller = ApiKeyCaller | MemberCaller;

/** What an operation asks of its caller. A kind of caller that is not named is refused; `system` never is. */
export interface Access {
  /** Scopes of which an API key needs one (FULL_ACCESS always counts), or `any` valid key. */
  readonly scopes?: readonly Scope[] | 'any';
  readonly roles?: readonly AccountRole[];
  readonly operator?: boolean;
}

/** The refusal that `access` has for `caller`, or undefined when it may pass (R117). */
export function refusal(access: Access, caller: Caller): DomainError | undefined {
  switch (caller.kind) {
    case 'system':
      return undefined;
    case 'operator':
      return access.operator ? undefined : forbidden('This is for members of an account, not for operators.');
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

/** The scope that lets a key in: a narrow one before FULL_ACCESS; undefined where none does, or any key may, or none. */
export function admittingScope({ scopes: wanted }: Access, own: readonly Scope[]): Scope | undefined {
  if (wanted === undefined || wanted === 'any') return undefined;
  const named = wanted.find((scope) => scope !== 'FULL_ACCESS' && own.includes(scope));
  return named ?? own.find((scope) => scope === 'FULL_ACCESS');
}

/** How the audit log and the ledger name a caller: `key:…`, `user:…` or `system:…`. */
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

/** The account that a caller belongs to; operators and the system belong to none and must name one. */
export function accountIdOf(caller: Caller): string {
  if (caller.kind === 'api-key' || caller.kind === 'member') return caller.accountId;
  throw forbidden('Only a key or a member of an account can do this.');
}

/**
 * The wall between the environments. Messages, events, webhook endpoints, deliveries, contacts, devices and imports
 * belong to the environment they were made in. A sandbox key reaches the sandbox only; a production key and a person
 * reach both. What a caller does not reach is `not_found` to it, and no list shows it.
 *
 * Stores that serve API keys take a `Visibility` or a `AccountEnvironment`, never a bare account id: so an operation cannot forget it.
 */

/** What a caller may look up and change. Throws `forbidden` for callers that belong to no account. */
export function visibilityOf(caller: Caller): Visibility {
  const isWalledIn = caller.kind === 'api-key' && caller.environment === 'sandbox';
  return { accountId: accountIdOf(caller), environment: isWalledIn ? 'sandbox' : undefined };
}

/** Where what a caller makes belongs: a key's own environment; for a person the one they chose, or production. */
export function environmentOf(caller: Caller, chosen?: Environment): Environment {
  return caller.kind === 'api-key' ? caller.environment : (chosen ?? 'production');
}

/** The account and environment in which a caller makes something. Throws as `visibilityOf` does. */
export function accountEnvironmentOf(caller: Caller, chosen?: Environment): AccountEnvironment {
  return { accountId: accountIdOf(caller), environment: environmentOf(caller, chosen) };
}

/** The environment that a list of one environment shows; undefined when the caller does not reach it: the list is empty. */
export function listedEnvironment(
  caller: Caller,
  asked: Environment | undefined,
): AccountEnvironment | undefined {
  const { accountId, environment } = visibilityOf(caller);
  const shown = asked ?? environmentOf(caller);
  return environment === undefined || environment === shown ? { accountId, environment: shown } : undefined;
}

/** What a list of both environments shows; undefined when the caller does not reach what it asks for. */
export function listedVisibility(caller: Caller, asked: Environment | undefined): Visibility | undefined {
  return asked === undefined ? visibilityOf(caller) : listedEnvironment(caller, asked);
}
