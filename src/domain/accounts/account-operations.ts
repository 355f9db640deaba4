import { actorOf, ALL_ROLES, type Caller } from '../caller.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, notFound, validationError } from '../errors.ts';
import { fromMinor, isCurrency, toMinor } from '../money/money.ts';
import { operation } from '../operation.ts';
import type { Account } from './account.ts';
import type { User } from './user.ts';

const EMAIL = /^[^\s@]{1,64}@[^\s@]{1,190}$/;
const NAME_MAX_LENGTH = 200;

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
  /** Names the payment: the same reference again changes nothing. */
  readonly reference?: string | undefined;
}
/** A person with the password made for them, which is shown this once. */
export interface NewUser {
  readonly user: User;
  readonly password: string;
}

/** Accounts, their balance and the people who sign in to them. */
export function accountOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, passwords } = deps;

  async function newUser(email: string, role: User['role'], accountId: string | null): Promise<NewUser & { hash: string }> {
    const password = ids.random(18).toString('base64url');
    const user = { id: ids.uuid(), accountId, email, role, mustChangePassword: true, createdAt: clock.now() };
    return { user, password, hash: await passwords.hash(password) };
  }

  async function checkEmail(email: string): Promise<void> {
    if (!EMAIL.test(email)) throw validationError([{ path: 'email', message: 'must be an email address' }]);
    if (await stores.users.findByEmail(email)) {
      throw validationError([{ path: 'email', message: 'is already the sign-in of somebody' }]);
    }
  }

  return {
    /** The caller's own account (contract, GET /account). */
    get: operation('account.get', { scopes: 'any', roles: ALL_ROLES }, async (caller, _input: Record<string, never>) => {
      const account = await stores.accounts.find(accountIdOf(caller));
      if (!account) throw notFound('Account');
      return account;
    }),

    /** Creates an account with its owner. An opening balance is the ledger's first entry. */
    create: operation('account.create', { operator: true }, async (caller, input: CreateAccountInput) => {
      if (!isCurrency(input.currency)) {
        throw validationError([{ path: 'currency', message: 'must be an ISO 4217 code such as UGX' }]);
      }
      const name = (input.name ?? input.email).slice(0, NAME_MAX_LENGTH);
      const openingMinor = amountMinor('balance', input.balance ?? 0, input.currency, 0);
      await checkEmail(input.email);
      const account: Account = {
        id: ids.uuid(),
        name,
        email: input.email,
        currency: input.currency,
        balanceMinor: 0,
        createdAt: clock.now(),
      };
      const owner = await newUser(input.email, 'OWNER', account.id);
      await uow.run(async (tx) => {
        await tx.accounts.insert(account);
        await tx.users.insert(owner.user, owner.hash);
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

    /** Adds to a balance. With a `reference` that was used before it changes nothing. */
    topUp: operation('account.topUp', { operator: true }, async (caller, input: TopUpInput) => {
      const account = await stores.accounts.find(input.accountId);
      if (!account) throw notFound('Account');
      const minor = amountMinor('amount', input.amount, account.currency, 1);
      return uow.run(async (tx) => {
        const entry = credit(caller, account.id, 'topup', minor, input.reference ?? null, clock.now());
        const entries = await tx.accounts.credit([entry]);
        if (entries.length > 0) {
          await recordChange(tx, deps, caller, {
            accountId: account.id,
            action: 'account.topUp',
            target: account.id,
            after: { amount: input.amount, reference: input.reference ?? null },
          });
        }
        const topped = await tx.accounts.find(account.id);
        if (!topped) throw notFound('Account');
        return topped;
      });
    }),

    /** Creates a platform operator, above accounts. */
    createOperator: operation('operator.create', {}, async (caller, input: { readonly email: string }) => {
      await checkEmail(input.email);
      const operator = await newUser(input.email, 'OPERATOR', null);
      await uow.run(async (tx) => {
        await tx.users.insert(operator.user, operator.hash);
        await recordChange(tx, deps, caller, {
          accountId: null,
          action: 'operator.create',
          target: operator.user.id,
          after: { email: input.email },
        });
      });
      return { user: operator.user, password: operator.password } satisfies NewUser;
    }),
  };
}

/** The account that a caller belongs to; operators and the system belong to none and must name one. */
export function accountIdOf(caller: Caller): string {
  if (caller.kind === 'api-key' || caller.kind === 'member') return caller.accountId;
  throw new DomainError('forbidden', 'Only a key or a member of an account can do this.');
}

function amountMinor(path: string, amount: number, currency: string, leastMinor: number): number {
  const refuse = (message: string) => validationError([{ path, message }]);
  let minor: number;
  try {
    minor = toMinor(amount, currency);
  } catch (error) {
    throw refuse(error instanceof RangeError ? error.message : 'is not an amount');
  }
  if (minor < leastMinor) throw refuse(`must be at least ${fromMinor(leastMinor, currency)} ${currency}`);
  return minor;
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
