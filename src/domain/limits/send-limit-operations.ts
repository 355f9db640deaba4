import { namedAccountId } from '../accounts/account-operations.ts';
import { lockKey } from '../api-keys/api-key-operations.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, forbidden, notFound, validationError } from '../errors.ts';
import { checkAmount, fromMinor } from '../money/money.ts';
import { operation } from '../operation.ts';
import type { Tx } from '../ports/stores.ts';
import { applying, isLowered, type LimitUse, NO_LIMITS, type SendLimits } from './send-limits.ts';

/** Largest limit of spend, in minor units. */
const SPEND_MAX_MINOR = 10 ** 15;
/** Largest value of the limits that count recipients, and messages to one number. */
const COUNT_MAX = 10 ** 9;
const PREFIXES_MAX = 100;

/**
 * A change of limits. Amounts are in units of the currency. Absent: the limit is not changed. Null: the limit is
 * removed (R372).
 */
export interface KeyLimitsInput {
  readonly spendPerHour?: number | null | undefined;
  readonly spendPerDay?: number | null | undefined;
  readonly recipientsPerDay?: number | null | undefined;
  readonly perNumberPerHour?: number | null | undefined;
  readonly allowedPrefixes?: readonly string[] | null | undefined;
}
export interface AccountLimitsInput extends KeyLimitsInput {
  readonly openedPrefixes?: readonly string[] | undefined;
}

/** Limits as both APIs show them: amounts are in units of the currency. */
export interface ShownLimits {
  readonly of: 'account' | 'key';
  readonly keyId: string | null;
  readonly currency: string;
  readonly spendPerHour: number | null;
  readonly spendPerDay: number | null;
  readonly recipientsPerDay: number | null;
  readonly perNumberPerHour: number | null;
  readonly allowedPrefixes: readonly string[] | null;
  readonly openedPrefixes: readonly string[];
  readonly used: {
    readonly spendThisHour: number;
    readonly spendToday: number;
    readonly recipientsToday: number;
  };
}

/** Operations on send limits (R370 to R374). */
export function sendLimitOperations(deps: Dependencies) {
  const { stores, uow, ids } = deps;

  async function currencyOf(accountId: string, { accounts }: Pick<Tx, 'accounts'> = stores): Promise<string> {
    const account = await accounts.find(accountId);
    if (!account) throw notFound('Account');
    return account.currency;
  }

  /** Sets the limits of an account, or of a key if `keyId` is given. Returns them with their counts. */
  async function change(
    tx: Tx,
    caller: Caller,
    target: { readonly accountId: string; readonly keyId: string | null; readonly mayRaise: boolean },
    patch: Partial<SendLimits>,
    currency: string,
  ): Promise<ShownLimits> {
    const { accountId, keyId } = target;
    const row = await tx.sendLimits.lock(accountId, keyId);
    const before = row ?? NO_LIMITS;
    const after = { ...before, ...patch };
    if (!target.mayRaise && !isLowered(before, after)) {
      throw forbidden(
        keyId === null
          ? 'You may only lower the limits of the account. Ask the operator to raise them.'
          : 'A key may only lower limits. Sign in to raise them.',
      );
    }
    await tx.sendLimits.set(row?.id ?? (keyId === null ? accountId : ids.uuid()), accountId, keyId, after);
    if (keyId !== null) await shareWithDescendants(tx, accountId, keyId);
    tx.announce('account', accountId);
    await recordChange(tx, deps, caller, {
      accountId,
      action: keyId === null ? 'account.setLimits' : 'apiKey.setLimits',
      target: keyId ?? accountId,
      ...(row ? { before: inUnits(row, currency) } : {}),
      after: inUnits(after, currency),
    });
    const uses = await tx.sendLimits.ofAccount(accountId);
    const use = uses.find((each) => each.keyId === keyId);
    if (!use) throw new Error('the limits are not there');
    return shownLimits(use, currency);
  }

  return {
    /**
     * Lists limits with their counts. An API key sees the limits that apply to it. People and operators see the limits
     * of the account and of all its keys.
     */
    list: operation(
      'account.limits',
      { scopes: 'any', roles: ACCOUNT_ROLES, operator: 'reading' },
      async (
        caller,
        input: { readonly accountId?: string | null | undefined },
      ): Promise<readonly ShownLimits[]> => {
        const accountId = namedAccountId(caller, input.accountId);
        const currency = await currencyOf(accountId);
        const uses = await stores.sendLimits.ofAccount(accountId);
        const shown = caller.kind === 'api-key' ? applying(uses, caller.keyId) : uses;
        return shown.map((use) => shownLimits(use, currency));
      },
    ),

    /** Sets the limits of a key (R372). A key with FULL_ACCESS may only lower them. */
    setOfKey: operation(
      'apiKey.setLimits',
      { scopes: [], roles: ['OWNER', 'ADMIN'], operator: true, stepUp: true },
      (caller, { keyId, ...input }: KeyLimitsInput & { readonly keyId: string }): Promise<ShownLimits> =>
        uow.run(async (tx) => {
          const { apiKey } = await lockKey(tx, deps, caller, keyId);
          // In the transaction: those who wait for its lock may have taken all connections.
          const currency = await currencyOf(apiKey.accountId, tx);
          const target = { accountId: apiKey.accountId, keyId, mayRaise: caller.kind !== 'api-key' };
          return change(tx, caller, target, checkLimits(input, currency), currency);
        }),
    ),

    /**
     * Sets the limits of an account (R372). Its owners, administrators and keys with FULL_ACCESS may only lower them. A
     * sandbox key may not, because the limits are about production.
     */
    setOfAccount: operation(
      'account.setLimits',
      { scopes: [], roles: ['OWNER', 'ADMIN'], operator: true, stepUp: true },
      async (
        caller,
        { accountId: named, ...input }: AccountLimitsInput & { readonly accountId?: string | undefined },
      ): Promise<ShownLimits> => {
        if (caller.kind === 'api-key' && caller.environment === 'sandbox') {
          throw forbidden('A sandbox key cannot change the limits of production. Use a production key.');
        }
        const accountId = namedAccountId(caller, named);
        const currency = await currencyOf(accountId);
        const patch = checkLimits(input, currency);
        const target = {
          accountId,
          keyId: null,
          mayRaise: caller.kind !== 'member' && caller.kind !== 'api-key',
        };
        return uow.run((tx) => change(tx, caller, target, patch, currency));
      },
    ),
  };
}

/**
 * Makes the keys that the key made before share its limits (R373). Otherwise a key that is limited later could send
 * through them as before. The caller holds the lock of the account's keys, so no key is made meanwhile.
 */
async function shareWithDescendants(tx: Tx, accountId: string, keyId: string): Promise<void> {
  const found = await tx.apiKeys.findDescendants({
    issuers: [`key:${keyId}`],
    accountId,
    includesRotatedByOthers: true,
  });
  const living = found.flatMap(({ key }) => (key.revokedAt === null ? [key.keyId] : []));
  if (living.length > 0) await tx.sendLimits.share(keyId, living);
}

function inUnits(limits: SendLimits, currency: string) {
  const inCurrency = (minor: number | null) => (minor === null ? null : fromMinor(minor, currency));
  return {
    spendPerHour: inCurrency(limits.spendPerHourMinor),
    spendPerDay: inCurrency(limits.spendPerDayMinor),
    recipientsPerDay: limits.recipientsPerDay,
    perNumberPerHour: limits.perNumberPerHour,
    allowedPrefixes: limits.allowedPrefixes,
    openedPrefixes: limits.openedPrefixes,
  };
}

function shownLimits(use: LimitUse, currency: string): ShownLimits {
  return {
    of: use.keyId === null ? 'account' : 'key',
    keyId: use.keyId,
    currency,
    ...inUnits(use, currency),
    used: {
      spendThisHour: fromMinor(use.hourMinor, currency),
      spendToday: fromMinor(use.dayMinor, currency),
      recipientsToday: use.dayRecipients,
    },
  };
}

const refuse = (path: string, message: string) => validationError([{ path, message }]);

/** Checks the given limits. Throws `validation_error`. */
function checkLimits(input: AccountLimitsInput, currency: string): Partial<SendLimits> {
  const spend = (path: 'spendPerHour' | 'spendPerDay') => () => {
    const amount = input[path];
    return amount == null ? amount : checkAmount(path, amount, currency, [0, SPEND_MAX_MINOR]);
  };
  const count = (path: 'recipientsPerDay' | 'perNumberPerHour') => () => {
    const value = input[path];
    if (value == null || (Number.isInteger(value) && value >= 0 && value <= COUNT_MAX)) return value;
    throw refuse(path, `must be a whole number from 0 to ${COUNT_MAX}`);
  };
  const checked = checkAll({
    spendPerHourMinor: spend('spendPerHour'),
    spendPerDayMinor: spend('spendPerDay'),
    recipientsPerDay: count('recipientsPerDay'),
    perNumberPerHour: count('perNumberPerHour'),
    allowedPrefixes: () => checkPrefixes('allowedPrefixes', input.allowedPrefixes, 1),
    openedPrefixes: () => checkPrefixes('openedPrefixes', input.openedPrefixes, 0),
  });
  return Object.fromEntries(Object.entries(checked).filter(([, value]) => value !== undefined));
}

function checkPrefixes(path: string, prefixes: readonly string[] | null | undefined, least: number) {
  if (prefixes == null) return prefixes;
  if (prefixes.length < least) throw refuse(path, 'must have at least one prefix; null allows all');
  if (prefixes.length > PREFIXES_MAX) throw refuse(path, `at most ${PREFIXES_MAX} prefixes`);
  const faults = prefixes.flatMap((prefix, index) =>
    /^[0-9]{1,15}$/.test(prefix)
      ? []
      : [{ path: `${path}.${index}`, message: 'must be the leading digits of a number, without +' }],
  );
  if (faults.length > 0) throw validationError(faults);
  return [...new Set(prefixes)];
}
