/**
 * **Single sign-on**: people sign in at an identity provider with OpenID Connect. The operators have one provider,
 * configured by environment variables. Each account can have its own (R355, R356). A provider names a person by issuer
 * and **subject**. Both together are an **identity**. The email address is read only at the first sign-in.
 */
import type { OperatorRole, Role } from '../caller.ts';
import type { OpenIdClient, RoleMapping, SingleSignOn } from '../ports/single-sign-on.ts';

/** Time limit in ms for a sign-in at the provider. */
export const REQUEST_MS = 10 * 60_000;
/**
 * A session that single sign-on started works this many minutes after the last successful check at the provider (R358).
 */
export const CHECKED_FOR_MINUTES = 55;
/** Pause in ms between two checks of a person at the provider, and after a failed check. */
export const CHECK_EVERY_MS = 30 * 60_000;
export const CHECK_AGAIN_MS = 5 * 60_000;
export const ROLE_RULES_MAX = 50;
export const ISSUER_MAX_LENGTH = 500;
export const CLIENT_MAX_LENGTH = 500;
export const CLAIM_MAX_LENGTH = 200;

/** The provider of the operators, from the environment variables. */
export interface OperatorProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly roleClaim: string;
}

/**
 * Returns the texts in a claim of the provider. Empty if there are none. The name of the claim may be a path such as
 * `realm_access.roles`.
 */
function valuesOf(claims: Readonly<Record<string, unknown>>, claim: string): readonly string[] {
  const own = claims[claim];
  const value = own === undefined ? claim.split('.').reduce<unknown>(memberOf, claims) : own;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((entry) => typeof entry === 'string');
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/**
 * Returns the role that an account gives a person, by the first rule that applies. Undefined if there is no role for
 * the person.
 */
export function mappedRole(
  claims: Readonly<Record<string, unknown>>,
  { claim, rules, defaultRole }: RoleMapping,
): Role | undefined {
  const values = valuesOf(claims, claim);
  return rules.find(({ value }) => values.includes(value))?.role ?? defaultRole ?? undefined;
}

/** Returns the role of an operator, if the claim contains `OPERATOR` or `OPERATOR_READONLY`. Undefined otherwise. */
export function operatorRole(
  claims: Readonly<Record<string, unknown>>,
  claim: string,
): OperatorRole | undefined {
  const values = valuesOf(claims, claim);
  return (['OPERATOR', 'OPERATOR_READONLY'] as const).find((role) => values.includes(role));
}

/** Returns the email address, if the provider has verified it. Undefined otherwise. */
export function verifiedEmail(claims: Readonly<Record<string, unknown>>): string | undefined {
  const { email, email_verified: isVerified } = claims;
  return typeof email === 'string' && isVerified === true ? email : undefined;
}

/** Returns the domain of an email address, in lower case. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}

/** Returns the TXT record that proves a domain (R356). */
export function domainRecord({ domain, domainToken }: Pick<SingleSignOn, 'domain' | 'domainToken'>): {
  readonly name: string;
  readonly value: string;
} {
  return { name: `_messaging-gateway.${domain}`, value: `messaging-gateway-verification=${domainToken}` };
}

/** Returns the OpenID client of an account's provider. */
export function clientOfAccount(
  { accountId, issuer, clientId, clientSecretSealed }: SingleSignOn,
  open: (sealed: string) => string,
): OpenIdClient {
  return { accountId, issuer, clientId, clientSecret: open(clientSecretSealed) };
}
