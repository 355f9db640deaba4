import { isKeyId } from '../api-keys/key-format.ts';
import { recordChange } from '../audit/record-change.ts';
import {
  ACCOUNT_ROLES,
  accountIdOf,
  actorOf,
  type Caller,
  type MemberCaller,
  type OperatorRole,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, type DomainError, forbidden, notFound, validationError } from '../errors.ts';
import { BALANCE_MAX_MINOR, checkAmount, checkReference, fromMinor, isCurrency } from '../money/money.ts';
import { operation } from '../operation.ts';
import {
  keyRange,
  SEQ_KEY,
  type Slice,
  type SliceInput,
  sliceOf,
  type TwoWaySliceInput,
  twoWayRange,
  twoWaySliceOf,
  UUID_KEY,
} from '../paging.ts';
import type { LedgerFilter } from '../ports/account-stores.ts';
import { ALL_IDS } from '../ports/changes.ts';
import { isUuid } from '../uuid.ts';
import type { Account, AccountOrder, LedgerEntry, RetentionDays } from './account.ts';
import { recordInspection } from './inspection.ts';
import { addUser, checkEmail, type NewUser, newUser, refuseTakenEmail } from './new-user.ts';
import { differenceOf, parseMonth, type Statement } from './statement.ts';

const NAME_MAX_LENGTH = 200;
/** Longest search text, in UTF-16 code units: the length of the longest email address. */
const SEARCH_MAX_LENGTH = 320;
/** The cursor of the list by balance: currency, balance in minor units and id. */
const BALANCE_KEY = /^[A-Z]{3} \d{1,16} [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const balanceKey = ({ currency, balanceMinor, id }: Account) => `${currency} ${balanceMinor} ${id}`;
const REASON_MAX_LENGTH = 500;
/** Longest retention in days: a century. */
export const RETENTION_MAX_DAYS = 36_500;

export interface CreateAccountInput {
  readonly email: string;
  readonly currency: string;
  readonly name?: string | undefined;
  /** Opening balance, in units of the currency. */
  readonly balance?: number | undefined;
}
export interface TopUpInput {
  readonly accountId: string;
  readonly amount: number;
  /** Identifies the payment, so that a repeated request books it only once. */
  readonly reference?: string | undefined;
}

export interface SetRetentionInput extends RetentionDays {
  /** The account to change. Default: the caller's own account. */
  readonly accountId?: string | null | undefined;
}

export interface CreateOperatorInput {
  readonly email: string;
  /** If true, the operator can only read. */
  readonly isReadOnly?: boolean | undefined;
}

/** Operations on accounts and their balances. */
export function accountOperations(deps: Dependencies) {
  const { stores, uow, clock, ids } = deps;

  return {
    /** Returns the caller's own account (R103). */
    get: operation(
      'account.get',
      { scopes: 'any', roles: ACCOUNT_ROLES },
      async (caller, _input: Record<string, never>) => {
        const account = await stores.accounts.findOnDisk(accountIdOf(caller));
        if (!account) throw notFound('Account');
        return account;
      },
    ),

    /**
     * Returns the caller's own account. An operator may read any account. Throws `not_found` for an account that the
     * caller may not read.
     */
    find: operation(
      'account.find',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (caller, input: { readonly id?: string | null | undefined }): Promise<Account> => {
        const ownId = caller.kind === 'member' ? caller.accountId : undefined;
        const id = input.id ?? ownId;
        if (id === undefined) throw validationError([{ path: 'id', message: 'must name an account' }]);
        const isVisible = ownId === undefined || id.toLowerCase() === ownId;
        const account = isVisible && isUuid(id) ? await stores.accounts.findOnDisk(id) : undefined;
        if (!account) throw notFound('Account');
        return account;
      },
    ),

    /**
     * Returns the accounts with these ids that the caller may read: their own, or any for an operator. In no particular
     * order, and without the lists of an account, so that it is no reading of an account (R290).
     */
    findMany: operation(
      'account.findMany',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (caller, { ids }: { readonly ids: readonly string[] }): Promise<readonly Account[]> => {
        const ownId = caller.kind === 'operator' ? undefined : accountIdOf(caller);
        const visible = ids.filter((id) => ownId === undefined || id.toLowerCase() === ownId);
        return visible.length === 0 ? [] : stores.accounts.findMany(visible);
      },
    ),

    /**
     * Lets an operator read an account with the rights of a VIEWER, and records that in the account's audit log (R290).
     * Without a reason, the texts of messages are masked. Returns the caller with which the operator reads.
     */
    inspect: operation(
      'account.inspect',
      { operator: 'reading' },
      async (
        caller,
        input: { readonly accountId: string; readonly reason?: string | undefined },
      ): Promise<MemberCaller> => {
        if (caller.kind !== 'operator') throw forbidden('This is for platform operators.');
        const { accountId, reason } = input;
        if (reason !== undefined && (reason.trim() === '' || reason.length > REASON_MAX_LENGTH)) {
          const message = `must have 1 to ${REASON_MAX_LENGTH} characters`;
          throw validationError([{ path: 'reason', message }]);
        }
        const account = isUuid(accountId) ? await stores.accounts.find(accountId) : undefined;
        if (!account) throw notFound('Account');
        await uow.run((tx) => recordInspection(tx, deps, caller, account.id, reason));
        const inspection = { showsTexts: reason !== undefined };
        return { ...caller, kind: 'member', role: 'VIEWER', accountId: account.id, inspection };
      },
    ),

    /**
     * Lists all accounts, newest first. `search` matches a part of the name or the email address, or the whole id of a
     * key of the account (R583).
     */
    list: operation(
      'account.list',
      { operator: 'reading' },
      async (
        _caller,
        input: SliceInput & {
          readonly search?: string | null | undefined;
          readonly orderBy?: AccountOrder | null | undefined;
        },
      ): Promise<Slice<Account>> => {
        const isByBalance = input.orderBy === 'balance';
        const range = keyRange(input, isByBalance ? BALANCE_KEY : UUID_KEY);
        const search = input.search || undefined;
        if (search !== undefined && search.length > SEARCH_MAX_LENGTH) {
          const message = `must have at most ${SEARCH_MAX_LENGTH} characters`;
          throw validationError([{ path: 'search', message }]);
        }
        const cursorOf = isByBalance ? balanceKey : ({ id }: Account) => id;
        const key = search !== undefined && isKeyId(search) ? await stores.apiKeys.find(search) : undefined;
        if (key) {
          const rows = range.after === undefined ? await stores.accounts.findMany([key.accountId]) : [];
          return sliceOf(rows, range, cursorOf, async () => 1);
        }
        const rows = await stores.accounts.list(search, range, isByBalance ? 'balance' : 'newest');
        return sliceOf(rows, range, cursorOf, () => stores.accounts.count(search));
      },
    ),

    /** Lists the ledger entries of the caller's account, newest first (R17). */
    ledger: operation(
      'account.ledger',
      { roles: ACCOUNT_ROLES },
      async (
        caller,
        input: TwoWaySliceInput & { readonly filter?: LedgerFilter | undefined },
      ): Promise<Slice<LedgerEntry>> => {
        const accountId = accountIdOf(caller);
        const range = twoWayRange(input, SEQ_KEY);
        const filter = input.filter ?? {};
        const rows = await stores.ledger.entries(accountId, filter, range);
        return twoWaySliceOf(
          rows,
          range,
          (entry) => String(entry.seq),
          () => stores.ledger.count(accountId, filter),
        );
      },
    ),

    /** Returns what moved the balance of the caller's account in a month such as `2026-11` (R460). */
    statement: operation(
      'account.statement',
      { roles: ACCOUNT_ROLES },
      async (caller, input: { readonly month: string }): Promise<Statement> => {
        const now = clock.now();
        const month = parseMonth(input.month, now);
        const account = await stores.accounts.find(accountIdOf(caller));
        if (!account) throw notFound('Account');
        const sums = await stores.ledger.monthly(account.id, month);
        return { ...sums, account, month, isFinal: month.to <= now, differenceMinor: differenceOf(sums) };
      },
    ),

    /** Creates an account and its owner. An opening balance becomes the first ledger entry. */
    create: operation('account.create', { operator: true }, async (caller, input: CreateAccountInput) => {
      const { name, openingMinor } = checkAll({
        email: () => checkEmail(input.email),
        name: () => checkName(input.name ?? input.email.slice(0, NAME_MAX_LENGTH)),
        // Check the currency first, because it decides how many decimals the balance may have.
        openingMinor: () => {
          if (!isCurrency(input.currency)) {
            throw validationError([{ path: 'currency', message: 'must be an ISO 4217 code such as UGX' }]);
          }
          return checkAmount('balance', input.balance ?? 0, input.currency, [0, BALANCE_MAX_MINOR]);
        },
      });
      await refuseTakenEmail(deps, input.email);
      const account: Account = {
        id: ids.uuid(),
        name,
        email: input.email,
        currency: input.currency,
        balanceMinor: 0,
        retention: { contentDays: null, messageDays: null },
        plan: null,
        requireSecondFactor: false,
        status: 'active',
        createdAt: clock.now(),
      };
      const person = { email: input.email, role: 'OWNER', accountId: account.id } as const;
      const owner = await newUser(deps, person, false);
      await uow.run(async (tx) => {
        await tx.accounts.insert(account);
        await addUser(tx, owner);
        if (openingMinor > 0) {
          await tx.accounts.credit([credit(caller, account.id, 'opening', openingMinor, null, clock.now())]);
        }
        await recordChange(tx, deps, caller, {
          accountId: account.id,
          action: 'account.create',
          target: account.id,
          after: { email: account.email, currency: account.currency, balance: input.balance ?? 0 },
        });
      });
      const created: Account = { ...account, balanceMinor: openingMinor };
      return { account: created, owner: { user: owner.user, password: owner.password } satisfies NewUser };
    }),

    /**
     * Adds a payment to a balance. A request repeated with the same `reference` changes nothing. Throws
     * `validation_error` if the reference belongs to a payment of another amount.
     */
    topUp: operation('account.topUp', { operator: true, stepUp: true }, async (caller, input: TopUpInput) => {
      const account = await stores.accounts.find(input.accountId);
      if (!account) throw notFound('Account');
      const { minor, reference } = checkAll({
        minor: () => checkAmount('amount', input.amount, account.currency, [1, BALANCE_MAX_MINOR]),
        reference: () => checkReference(input.reference),
      });
      return uow.run(async (tx) => {
        const entry = credit(caller, account.id, 'topup', minor, reference, clock.now());
        const entries = await tx.accounts.credit([entry]);
        const booked = reference !== null && (await tx.accounts.findBooked(account.id, reference));
        if (booked && booked.amountMinor !== minor) throw otherAmount(booked, account.currency);
        if (entries.length > 0) {
          await recordChange(tx, deps, caller, {
            accountId: account.id,
            action: 'account.topUp',
            target: account.id,
            after: { amount: input.amount, reference },
          });
          tx.announceLive('usage', [{ accountId: account.id, id: account.id }]);
        }
        const topped = await tx.accounts.find(account.id);
        if (!topped) throw notFound('Account');
        if (topped.balanceMinor > BALANCE_MAX_MINOR) {
          const most = `${fromMinor(BALANCE_MAX_MINOR, topped.currency)} ${topped.currency}`;
          throw validationError([{ path: 'amount', message: `would make the balance larger than ${most}` }]);
        }
        return topped;
      });
    }),

    /**
     * Sets how many days after acceptance the text of a message is erased and the message is deleted. Null keeps it.
     * `messageDays` is at least `contentDays`. Erased data cannot be restored.
     */
    setRetention: operation(
      'account.setRetention',
      { roles: ['OWNER'], operator: true, stepUp: true },
      async (caller, { accountId, contentDays, messageDays }: SetRetentionInput): Promise<RetentionDays> => {
        const id = namedAccountId(caller, accountId);
        checkAll({
          contentDays: () => checkDays('contentDays', contentDays),
          messageDays: () => checkDays('messageDays', messageDays),
        });
        if (contentDays !== null && messageDays !== null && messageDays < contentDays) {
          throw validationError([{ path: 'messageDays', message: 'must not be fewer than contentDays' }]);
        }
        const retention = { contentDays, messageDays };
        await uow.run(async (tx) => {
          const before = await tx.accounts.setRetention(id, retention);
          if (!before) throw notFound('Account');
          await recordChange(tx, deps, caller, {
            accountId: id,
            action: 'account.setRetention',
            target: id,
            before,
            after: retention,
          });
        });
        return retention;
      },
    ),

    /**
     * Sets whether members of the caller's account must have a second factor (R250). It takes effect from their next
     * request on.
     */
    setSecurityPolicy: operation(
      'account.setSecurityPolicy',
      { roles: ['OWNER'], stepUp: true },
      async (
        caller,
        { requireSecondFactor }: { readonly requireSecondFactor: boolean },
      ): Promise<Account> => {
        const id = accountIdOf(caller);
        return uow.run(async (tx) => {
          const before = await tx.accounts.find(id);
          if (!before) throw notFound('Account');
          await tx.accounts.setSecurityPolicy(id, requireSecondFactor);
          tx.announce('session', ALL_IDS);
          await recordChange(tx, deps, caller, {
            accountId: id,
            action: 'account.setSecurityPolicy',
            target: id,
            before: { requireSecondFactor: before.requireSecondFactor },
            after: { requireSecondFactor },
          });
          return { ...before, requireSecondFactor };
        });
      },
    ),

    /** Creates a platform operator. Unless `isReadOnly` is true, the operator may make changes. */
    createOperator: operation('operator.create', {}, async (caller, input: CreateOperatorInput) => {
      await refuseTakenEmail(deps, input.email);
      const role: OperatorRole = input.isReadOnly ? 'OPERATOR_READONLY' : 'OPERATOR';
      const person = { email: input.email, role, accountId: null };
      const operator = await newUser(deps, person, false);
      await uow.run(async (tx) => {
        await addUser(tx, operator);
        await recordChange(tx, deps, caller, {
          accountId: null,
          action: 'operator.create',
          target: operator.user.id,
          after: { email: input.email, role },
        });
      });
      return { user: operator.user, password: operator.password } satisfies NewUser;
    }),
  };
}

/**
 * Returns the account that the request names, or else the caller's own. Throws `not_found` for another account. Throws
 * `validation_error` if a caller without an account names none.
 */
export function namedAccountId(caller: Caller, named: string | null | undefined): string {
  const ownId = caller.kind === 'api-key' || caller.kind === 'member' ? caller.accountId : undefined;
  const id = named?.toLowerCase() ?? ownId;
  if (id === undefined) throw validationError([{ path: 'accountId', message: 'must name an account' }]);
  if (!isUuid(id) || (ownId !== undefined && id !== ownId)) throw notFound('Account');
  return id;
}

function checkName(name: string): string {
  if (name.trim() !== '' && name.length <= NAME_MAX_LENGTH) return name;
  throw validationError([{ path: 'name', message: `must have 1 to ${NAME_MAX_LENGTH} characters` }]);
}

function otherAmount({ amountMinor, createdAt }: LedgerEntry, currency: string): DomainError {
  const payment = `${fromMinor(amountMinor, currency)} ${currency} booked at ${createdAt.toISOString()}`;
  const message = `is the reference of the payment of ${payment}; use a new reference for another payment`;
  return validationError([{ path: 'reference', message }]);
}

function credit(
  caller: Caller,
  accountId: string,
  kind: 'opening' | 'topup',
  amountMinor: number,
  reference: string | null,
  createdAt: Date,
) {
  const actor = actorOf(caller);
  return { accountId, kind, amountMinor, messageId: null, position: null, reference, actor, createdAt };
}

function checkDays(path: string, days: number | null): void {
  if (days === null || (Number.isInteger(days) && days >= 1 && days <= RETENTION_MAX_DAYS)) return;
  throw validationError([{ path, message: `must be a whole number from 1 to ${RETENTION_MAX_DAYS}` }]);
}
