import { refuseStaleRole } from '../accounts/refuse-stale-role.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type AccountRole, accountIdOf, type Caller, type SystemCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DOMAIN_CHECK_EVERY_MS } from '../domain-checks.ts';
import { type FieldFault, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { RoleMapping, SingleSignOn } from '../ports/single-sign-on.ts';
import { userIdOf } from './second-factor-operations.ts';
import {
  CLAIM_MAX_LENGTH,
  CLIENT_MAX_LENGTH,
  domainRecord,
  ISSUER_MAX_LENGTH,
  ROLE_RULES_MAX,
} from './single-sign-on.ts';

export interface SetSingleSignOnInput {
  readonly issuer: string;
  readonly clientId: string;
  /** The client secret at the provider. Undefined or null: the stored secret is kept. */
  readonly clientSecret?: string | null | undefined;
  readonly domain: string;
  readonly roleMapping: {
    readonly claim: string;
    readonly rules: readonly { readonly value: string; readonly role: string }[];
    readonly defaultRole?: string | null | undefined;
  };
  readonly required: boolean;
}

/** The settings that people see. They contain the DNS record, and not the secret. */
export interface ShownSingleSignOn
  extends Pick<
    SingleSignOn,
    | 'issuer'
    | 'clientId'
    | 'domain'
    | 'domainProvedAt'
    | 'domainLostAt'
    | 'roleMapping'
    | 'required'
    | 'breakGlassUserId'
  > {
  readonly dnsRecord: { readonly name: string; readonly value: string };
}

/** Tells an account that another one has its lost domain. The entry must not name a person of the other account. */
const BY_PROOF: SystemCaller = { kind: 'system', name: 'single-sign-on' };
const OWNERS = { roles: ['OWNER'] } as const;
const CHANGE = { ...OWNERS, stepUp: true } as const;
const DOMAIN = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** Operations with which owners manage the single sign-on of their account (R356). */
export function singleSignOnOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets, transport, txtRecords } = deps;

  async function own(caller: Caller): Promise<SingleSignOn> {
    const found = await stores.singleSignOn.find(accountIdOf(caller));
    if (!found) throw notFound('Single sign-on');
    return found;
  }

  return {
    /** Returns the settings of the account. Undefined if there are none. */
    get: operation('singleSignOn.get', OWNERS, async (caller, _input: Record<string, never>) => {
      const found = await stores.singleSignOn.find(accountIdOf(caller));
      return found && shown(found);
    }),

    /**
     * Stores the account's provider. Nobody can sign in there until the domain is proved. If the issuer changes, the
     * sessions that began at the former issuer end. With `required`, all other sessions of members end, and the caller
     * becomes the one owner who may still sign in with a password. Throws `validation_error` with all faults.
     */
    set: operation('singleSignOn.set', CHANGE, async (caller, input: SetSingleSignOnInput) => {
      const accountId = accountIdOf(caller);
      const { roleMapping, ...checked } = check(input, await stores.singleSignOn.find(accountId));
      await transport.checkAddress(checked.issuer).catch((error: unknown) => {
        throw validationError([
          { path: 'issuer', message: error instanceof Error ? error.message : 'cannot be reached' },
        ]);
      });
      return uow.run(async (tx) => {
        await tx.users.lockMembers(accountId);
        await refuseStaleRole(tx, caller);
        const before = await tx.singleSignOn.find(accountId);
        const isSameDomain = before?.domain === checked.domain;
        const domainProvedAt = isSameDomain ? before.domainProvedAt : null;
        if (checked.required && domainProvedAt === null)
          throw validationError([{ path: 'required', message: 'prove the domain first' }]);
        const clientSecretSealed = input.clientSecret
          ? secrets.seal(input.clientSecret)
          : before?.clientSecretSealed;
        if (clientSecretSealed === undefined)
          throw validationError([{ path: 'clientSecret', message: 'is missing' }]);
        const settings = {
          accountId,
          ...checked,
          roleMapping,
          clientSecretSealed,
          domainToken: isSameDomain ? before.domainToken : ids.random(24).toString('base64url'),
          domainProvedAt,
          breakGlassUserId: before?.required ? before.breakGlassUserId : userIdOf(caller),
        };
        await tx.singleSignOn.save(settings);
        await tx.singleSignOn.removeOtherIdentities(accountId, settings.issuer);
        if (settings.required) await tx.singleSignOn.endOtherSessions(accountId, settings.breakGlassUserId);
        tx.announce('session', ALL_IDS);
        await recordChange(tx, deps, caller, {
          accountId,
          action: 'account.setSingleSignOn',
          target: accountId,
          ...(before && { before: audited(before) }),
          after: { ...audited(settings), newSecret: Boolean(input.clientSecret) },
        });
        return shown({ ...settings, domainLostAt: isSameDomain ? before.domainLostAt : null });
      });
    }),

    /**
     * Reads the DNS record now. Throws `validation_error` if it is missing, or if another account has proved the
     * domain. Throws `provider_error` if no name server answers.
     */
    checkDomain: operation(
      'singleSignOn.checkDomain',
      CHANGE,
      async (caller, _input: Record<string, never>) => {
        const settings = await own(caller);
        const { name, value } = domainRecord(settings);
        const records = await txtRecords.find(name);
        if (!records.some((record) => record.trim() === value)) {
          const message = `the DNS has no TXT record ${name} with ${value} yet; new records can take an hour to be seen`;
          throw validationError([{ path: 'domain', message }]);
        }
        return uow.run(async (tx) => {
          const now = clock.now();
          const still = await tx.singleSignOn.find(settings.accountId);
          if (still?.domainToken !== settings.domainToken) throw notFound('Single sign-on');
          // An account that has lost the domain must not keep it from the account that has its record now.
          for (const accountId of await tx.singleSignOn.releaseDomain(settings.accountId)) {
            tx.announce('session', ALL_IDS);
            await recordChange(tx, deps, BY_PROOF, {
              accountId,
              action: 'account.loseSingleSignOnDomain',
              target: accountId,
              after: { domain: settings.domain, reason: 'another account has proved the domain' },
            });
          }
          const next = new Date(now.getTime() + DOMAIN_CHECK_EVERY_MS);
          if (!(await tx.singleSignOn.proveDomain(settings.accountId, now, next)))
            throw validationError([{ path: 'domain', message: 'is proved by another account' }]);
          await recordChange(tx, deps, caller, {
            accountId: settings.accountId,
            action: 'account.proveSingleSignOnDomain',
            target: settings.accountId,
            after: { domain: settings.domain },
          });
          return shown({ ...still, domainProvedAt: now, domainLostAt: null });
        });
      },
    ),

    /** Removes the provider and ends its sessions. People can sign in with passwords again. */
    remove: operation('singleSignOn.remove', CHANGE, async (caller, _input: Record<string, never>) => {
      const settings = await own(caller);
      await uow.run(async (tx) => {
        await tx.users.lockMembers(settings.accountId);
        await refuseStaleRole(tx, caller);
        await tx.singleSignOn.remove(settings.accountId);
        tx.announce('session', ALL_IDS);
        await recordChange(tx, deps, caller, {
          accountId: settings.accountId,
          action: 'account.removeSingleSignOn',
          target: settings.accountId,
          before: audited(settings),
        });
      });
    }),
  };
}

function check(input: SetSingleSignOnInput, before: SingleSignOn | undefined) {
  const faults: FieldFault[] = [];
  const text = (path: string, value: string, most: number) => {
    const trimmed = value.trim();
    if (trimmed === '' || trimmed.length > most)
      faults.push({ path, message: `must have 1 to ${most} characters` });
    return trimmed;
  };
  const issuer = text('issuer', input.issuer, ISSUER_MAX_LENGTH);
  const clientId = text('clientId', input.clientId, CLIENT_MAX_LENGTH);
  if (input.clientSecret) text('clientSecret', input.clientSecret, CLIENT_MAX_LENGTH);
  // The stored secret was given for one provider. Do not send it to another.
  else if (before?.issuer !== issuer || before.clientId !== clientId)
    faults.push({ path: 'clientSecret', message: 'must be given with another issuer or client' });
  const domain = input.domain.trim().toLowerCase();
  if (!DOMAIN.test(domain)) faults.push({ path: 'domain', message: 'must be a domain such as example.com' });
  const roleMapping = checkMapping(input.roleMapping, faults);
  if (faults.length > 0) throw validationError(faults);
  return { issuer, clientId, domain, roleMapping, required: input.required };
}

function checkMapping(given: SetSingleSignOnInput['roleMapping'], faults: FieldFault[]): RoleMapping {
  const claim = given.claim.trim();
  if (claim === '' || claim.length > CLAIM_MAX_LENGTH)
    faults.push({
      path: 'roleMapping.claim',
      message: `must have 1 to ${CLAIM_MAX_LENGTH} characters, such as groups`,
    });
  if (given.rules.length > ROLE_RULES_MAX)
    faults.push({ path: 'roleMapping.rules', message: `at most ${ROLE_RULES_MAX}` });
  const roleOf = (role: string, path: string): AccountRole => {
    const found = ACCOUNT_ROLES.find((known) => known === role);
    if (!found) faults.push({ path, message: `must be one of ${ACCOUNT_ROLES.join(', ')}` });
    return found ?? 'VIEWER';
  };
  const rules = given.rules.slice(0, ROLE_RULES_MAX).map(({ value, role }, index) => {
    const path = `roleMapping.rules.${index}`;
    if (value === '' || value.length > CLAIM_MAX_LENGTH)
      faults.push({ path: `${path}.value`, message: `must have 1 to ${CLAIM_MAX_LENGTH} characters` });
    return { value, role: roleOf(role, `${path}.role`) };
  });
  const defaultRole = given.defaultRole ? roleOf(given.defaultRole, 'roleMapping.defaultRole') : null;
  if (rules.length === 0 && defaultRole === null)
    faults.push({ path: 'roleMapping', message: 'needs a rule or a default role' });
  return { claim, rules, defaultRole };
}

function shown(settings: Omit<SingleSignOn, 'domainMissingSince'>): ShownSingleSignOn {
  const { issuer, clientId, domain, domainProvedAt, domainLostAt } = settings;
  const { roleMapping, required, breakGlassUserId } = settings;
  return {
    ...{ issuer, clientId, domain, domainProvedAt, domainLostAt, roleMapping, required, breakGlassUserId },
    dnsRecord: domainRecord(settings),
  };
}

function audited({
  issuer,
  clientId,
  domain,
  roleMapping,
  required,
  breakGlassUserId,
}: Pick<SingleSignOn, 'issuer' | 'clientId' | 'domain' | 'roleMapping' | 'required' | 'breakGlassUserId'>) {
  return { issuer, clientId, domain, roleMapping, required, breakGlassUserId };
}
