/** Finds accounts and people of a search in the audit log by their names and email addresses (R526). */
import { accountIdOf, type Caller } from '../caller.ts';
import { forbidden, validationError } from '../errors.ts';
import type { AuditFilter } from '../ports/list-stores.ts';
import type { Stores } from '../ports/stores.ts';
import { isUuid } from '../uuid.ts';

/** Longest name of an account in a search, in UTF-16 code units: the length of the longest email address. */
const NAME_MAX_LENGTH = 320;
/** Number of accounts among which one with exactly this name or email address is looked for. */
const ACCOUNTS_MAX = 100;
/** Number of email addresses that an error names. */
const EMAILS_NAMED = 5;

/** Conditions on entries, as people give them (R526). */
export interface AuditSearch extends Omit<AuditFilter, 'actors' | 'targets'> {
  /** For operators: the id, the email address or a part of the name of an account. */
  readonly account?: string | undefined;
  /** The text of an actor, or the email address of a person. */
  readonly actor?: string | undefined;
  /** The id of a target, or the email address of a person. */
  readonly target?: string | undefined;
}

/** Returns the account and the conditions that the entries must have. */
export async function resolveSearch(
  stores: Pick<Stores, 'accounts' | 'users'>,
  caller: Caller,
  { account, actor, target, ...rest }: AuditSearch,
): Promise<{ readonly accountId: string | undefined; readonly filter: AuditFilter }> {
  const accountId = await searchedAccount(stores, caller, account);
  const [actors, targets] = await Promise.all([
    searchedIds(stores, accountId, actor, (id) => `user:${id}`),
    searchedIds(stores, accountId, target, (id) => id),
  ]);
  return { accountId, filter: { ...rest, actors, targets } };
}

/** Returns the account whose entries are searched. Undefined: those of all accounts and of the platform. */
async function searchedAccount(
  stores: Pick<Stores, 'accounts'>,
  caller: Caller,
  text: string | undefined,
): Promise<string | undefined> {
  if (caller.kind !== 'operator') {
    if (text !== undefined) throw forbidden('Only operators filter the audit log by account.');
    return accountIdOf(caller);
  }
  if (text === undefined || isUuid(text)) return text?.toLowerCase();
  const fault = (message: string) => validationError([{ path: 'filter.account', message }]);
  if (text.length > NAME_MAX_LENGTH) throw fault(`must have at most ${NAME_MAX_LENGTH} characters`);
  const found = await stores.accounts.list(text, { limit: ACCOUNTS_MAX, after: undefined });
  const isCalled = (name: string) => name.toLowerCase() === text.toLowerCase();
  const [only, ...others] =
    [found.filter(({ email }) => isCalled(email)), found.filter(({ name }) => isCalled(name)), found].find(
      ({ length }) => length > 0,
    ) ?? [];
  if (only === undefined) throw fault('names no account: give an id, an email address or a part of a name');
  if (others.length > 0) {
    const emails = [only, ...others].slice(0, EMAILS_NAMED).map(({ email }) => email);
    throw fault(`names several accounts: give an email address, such as ${emails.join(', ')}`);
  }
  return only.id;
}

/** Returns what the log calls the people with an email address, or the text itself if it is none. */
async function searchedIds(
  { users }: Pick<Stores, 'users'>,
  accountId: string | undefined,
  text: string | undefined,
  textOf: (id: string) => string,
): Promise<readonly string[] | undefined> {
  if (text === undefined) return undefined;
  return text.includes('@') ? (await users.idsOfEmail(text, accountId)).map(textOf) : [text];
}
