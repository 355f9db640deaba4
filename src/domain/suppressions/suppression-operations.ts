import { recordChange } from '../audit/record-change.ts';
import {
  ACCOUNT_ROLES,
  accountEnvironmentOf,
  type Environment,
  listedEnvironment,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import {
  EMPTY_PAGE,
  emptySlice,
  keyRange,
  type Page,
  type PageRequest,
  type Slice,
  type SliceInput,
  sliceOf,
  UUID_KEY,
} from '../paging.ts';
import type { SuppressionFilter } from '../ports/suppression-store.ts';
import { isUuid } from '../uuid.ts';
import { storedForms } from './hashed-suppressions.ts';
import {
  checkAddress,
  isHashed,
  placeText,
  SUPPRESSION_REASON_MAX_LENGTH,
  type SuppressedChannel,
  type Suppression,
  type SuppressionScope,
  suppressibleAddress,
} from './suppression.ts';
import { readSuppressionFile, suppressionLines } from './suppression-file.ts';

const READ = { scopes: ['READ_CONTACTS', 'MANAGE_CONTACTS'], roles: ACCOUNT_ROLES } as const;
const WRITE = { scopes: ['MANAGE_CONTACTS'], roles: ['OWNER', 'ADMIN', 'DEVELOPER'] } as const;

export interface ListedSuppressions {
  readonly environment?: Environment | undefined;
  readonly channel?: SuppressedChannel | undefined;
  /** An address in any form. */
  readonly address?: string | undefined;
}
export interface SuppressInput {
  readonly channel: SuppressedChannel;
  readonly address: string;
  readonly scope: SuppressionScope;
  readonly reason?: string | undefined;
  readonly environment?: Environment | undefined;
}

/** Number of suppressions in one part of an export. */
const EXPORT_PART = 5_000;

export interface SuppressionImport {
  readonly rows: number;
  /** Number of addresses that are suppressed now, or more widely than before. */
  readonly changed: number;
  /** Number of addresses that were suppressed at least as widely before. */
  readonly unchanged: number;
}

/** A part of an export. The parts one after the other are the file. */
export interface SuppressionExport {
  readonly csv: string;
  /** Where the next part begins. Null if there is none. */
  readonly nextAfter: string | null;
}

/** Operations on the addresses to which an account must not send (R377). */
export function suppressionOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, csv, addressHashes } = deps;
  /** Returns the filter of a list. A text that is not an address of the channel matches nothing. */
  const filterOf = async (
    accountId: string,
    { channel, address }: ListedSuppressions,
  ): Promise<SuppressionFilter> => {
    if (address === undefined) return { channel };
    const of = channel ?? (address.includes('@') ? 'email' : 'sms');
    const stored = suppressibleAddress(of, address) ?? address;
    return { channel, addresses: await storedForms(addressHashes, accountId, stored) };
  };

  return {
    /** Returns one page, newest first. */
    list: operation(
      'suppression.list',
      READ,
      async (
        caller,
        input: ListedSuppressions & { readonly page: PageRequest },
      ): Promise<Page<Suppression>> => {
        const owner = listedEnvironment(caller, input.environment);
        if (!owner) return EMPTY_PAGE;
        return stores.suppressions.page(owner, await filterOf(owner.accountId, input), input.page);
      },
    ),

    /** Returns a slice, newest first. */
    slice: operation(
      'suppression.slice',
      READ,
      async (caller, input: SliceInput & ListedSuppressions): Promise<Slice<Suppression>> => {
        const range = keyRange(input, UUID_KEY);
        const owner = listedEnvironment(caller, input.environment);
        if (!owner) return emptySlice(range);
        const filter = await filterOf(owner.accountId, input);
        const rows = await stores.suppressions.slice(owner, filter, range);
        return sliceOf(
          rows,
          range,
          ({ id }) => id,
          () => stores.suppressions.count(owner, filter),
        );
      },
    ),

    /** Suppresses an address. If it is already suppressed, changes the scope, reason and source of the suppression. */
    add: operation('suppression.add', WRITE, async (caller, input: SuppressInput): Promise<Suppression> => {
      const owner = accountEnvironmentOf(caller, input.environment);
      const { address } = checkAll({
        address: () => checkAddress(input.channel, input.address),
        reason: () => {
          if ((input.reason?.length ?? 0) <= SUPPRESSION_REASON_MAX_LENGTH) return;
          const message = `must have at most ${SUPPRESSION_REASON_MAX_LENGTH} characters`;
          throw validationError([{ path: 'reason', message }]);
        },
      });
      return uow.run(async (tx) => {
        const stored = await tx.suppressions.set({
          ...owner,
          id: ids.uuid(),
          channel: input.channel,
          address,
          scope: input.scope,
          source: caller.kind === 'api-key' ? 'api' : 'person',
          reason: input.reason ?? null,
          createdAt: clock.now(),
        });
        tx.announce('suppressions', owner.accountId, placeText(stored));
        await recordChange(tx, deps, caller, {
          accountId: owner.accountId,
          action: 'suppression.add',
          target: stored.id,
          // Audit entries are never deleted. So do not store a person's address in one.
          after: { channel: stored.channel, scope: stored.scope },
        });
        return stored;
      });
    }),

    /**
     * Suppresses the addresses in a file (suppression-file.ts). An address that is suppressed at least as widely does
     * not change, so that a repeat changes nothing. All or nothing: throws `validation_error` for any faulty row.
     */
    importFile: operation(
      'suppression.import',
      WRITE,
      async (
        caller,
        input: { readonly csv: string; readonly environment?: Environment | undefined },
      ): Promise<SuppressionImport> => {
        const owner = accountEnvironmentOf(caller, input.environment);
        const { accountId } = owner;
        const { rows, entries } = await readSuppressionFile(csv, input.csv);
        const createdAt = clock.now();
        const suppressions = entries.map(
          (entry): Suppression => ({ ...owner, ...entry, id: ids.uuid(), source: 'import', createdAt }),
        );
        return uow.run(async (tx) => {
          const changed = await tx.suppressions.addAll(suppressions);
          if (changed > 0) tx.announce('suppressions', accountId);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'account.importSuppressions',
            target: accountId,
            after: { environment: owner.environment, rows, changed },
          });
          return { rows, changed, unchanged: entries.length - changed };
        });
      },
    ),

    /**
     * Returns a part of all suppressions as a file, newest first. Only the first part has the header. Records each part
     * in the audit log. Throws `step_up_required` for people.
     */
    exportFile: operation(
      'suppression.export',
      { ...READ, stepUp: true },
      async (
        caller,
        input: { readonly after?: string | undefined; readonly environment?: Environment | undefined },
      ): Promise<SuppressionExport> => {
        const { after } = input;
        if (after !== undefined && !isUuid(after)) {
          throw validationError([{ path: 'after', message: 'must be the nextAfter of the part before' }]);
        }
        const owner = listedEnvironment(caller, input.environment);
        if (!owner) return { csv: suppressionLines([], after === undefined), nextAfter: null };
        const found = await stores.suppressions.slice(owner, {}, { limit: EXPORT_PART + 1, after });
        const { accountId } = owner;
        await uow.run((tx) =>
          recordChange(tx, deps, caller, {
            accountId,
            action: 'account.startExport',
            target: accountId,
            after: {
              list: 'suppressions',
              environment: owner.environment,
              filters: after === undefined ? [] : ['after'],
            },
          }),
        );
        const part = found.slice(0, EXPORT_PART);
        const nextAfter = found.length > EXPORT_PART ? (part.at(-1)?.id ?? null) : null;
        // Nobody could read or import a hash.
        const readable = part.filter((each) => !isHashed(each));
        return { csv: suppressionLines(readable, after === undefined), nextAfter };
      },
    ),

    /** Removes a suppression, so that the account may send to the address again. */
    remove: operation('suppression.remove', WRITE, async (caller, input: { readonly id: string }) => {
      const visibility = visibilityOf(caller);
      await uow.run(async (tx) => {
        const found = isUuid(input.id) && (await tx.suppressions.find(visibility, input.id));
        if (!found) throw notFound('Suppression');
        await tx.suppressions.remove(visibility.accountId, found.id);
        tx.announce('suppressions', visibility.accountId, placeText(found));
        await recordChange(tx, deps, caller, {
          accountId: visibility.accountId,
          action: 'suppression.remove',
          target: found.id,
          before: { channel: found.channel, scope: found.scope, source: found.source },
        });
      });
    }),
  };
}
