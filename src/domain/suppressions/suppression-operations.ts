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
import {
  checkAddress,
  SUPPRESSION_REASON_MAX_LENGTH,
  type SuppressedChannel,
  type Suppression,
  type SuppressionScope,
  suppressibleAddress,
} from './suppression.ts';

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

/** Operations on the addresses to which an account must not send (R377). */
export function suppressionOperations(deps: Dependencies) {
  const { stores, uow, clock, ids } = deps;
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
        return owner ? stores.suppressions.page(owner, filterOf(input), input.page) : EMPTY_PAGE;
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
        const filter = filterOf(input);
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
        tx.announce('suppressions', owner.accountId);
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

    /** Removes a suppression, so that the account may send to the address again. */
    remove: operation('suppression.remove', WRITE, async (caller, input: { readonly id: string }) => {
      const visibility = visibilityOf(caller);
      await uow.run(async (tx) => {
        const found = isUuid(input.id) && (await tx.suppressions.find(visibility, input.id));
        if (!found) throw notFound('Suppression');
        await tx.suppressions.remove(visibility.accountId, found.id);
        tx.announce('suppressions', visibility.accountId);
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

/** Returns the filter of a list. A text that is not an address of the channel matches nothing. */
function filterOf({ channel, address }: ListedSuppressions): SuppressionFilter {
  if (address === undefined) return { channel };
  const of = channel ?? (address.includes('@') ? 'email' : 'sms');
  return { channel, address: suppressibleAddress(of, address) ?? address };
}
