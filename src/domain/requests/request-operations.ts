import { recordChange } from '../audit/record-change.ts';
import { accountIdOf, refusal } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { keyRange, type Slice, type SliceInput, sliceOf, UUID_KEY } from '../paging.ts';
import { isUuid } from '../uuid.ts';
import { type ApiRequest, FULL_BODIES_HOURS, type FullBodies, type RequestFilter } from './api-request.ts';

/** The roles that may read the log. They are the roles that may manage keys. */
export const READ_REQUESTS = { roles: ['OWNER', 'ADMIN', 'DEVELOPER'] } as const;
const FILTER_MAX_LENGTH = 200;

export interface ListRequestsInput extends SliceInput {
  readonly filter?: RequestFilter | undefined;
}

/** Operations on the log of REST requests (R415). */
export function requestOperations(deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids'>) {
  const { stores, uow, clock } = deps;
  return {
    /** Lists requests, newest first. Throws `validation_error` for a filter text that is too long. */
    list: operation(
      'request.list',
      READ_REQUESTS,
      async (caller, input: ListRequestsInput): Promise<Slice<ApiRequest>> => {
        const accountId = accountIdOf(caller);
        const filter = input.filter ?? {};
        checkTexts(filter);
        const range = keyRange(input, UUID_KEY);
        const rows = await stores.requests.slice(accountId, filter, range);
        return sliceOf(
          rows,
          range,
          ({ id }) => id,
          () => stores.requests.count(accountId, filter),
        );
      },
    ),

    /** Returns one request. Throws `not_found`. */
    find: operation(
      'request.find',
      READ_REQUESTS,
      async (caller, { id }: { readonly id: string }): Promise<ApiRequest> => {
        const found = isUuid(id) ? await stores.requests.find(accountIdOf(caller), id) : undefined;
        if (!found) throw notFound('Request');
        return found;
      },
    ),

    /**
     * For each of these messages, returns the request that sent it, if the log has that request. Returns an empty
     * result to a role that may not read the log, so that the role can still read the other fields of a message.
     */
    ofMessages: operation(
      'request.ofMessages',
      { roles: ['OWNER', 'ADMIN', 'DEVELOPER', 'SUPPORT', 'VIEWER'] },
      async (caller, { messageIds }: { readonly messageIds: readonly string[] }) =>
        refusal(READ_REQUESTS, caller) ? [] : stores.requests.ofMessages(accountIdOf(caller), messageIds),
    ),

    /** Returns the time until which the account logs whole bodies. Undefined if it does not log them. */
    logging: operation(
      'request.logging',
      READ_REQUESTS,
      async (caller, _input: Record<string, never>): Promise<FullBodies | undefined> => {
        const accountId = accountIdOf(caller);
        const found = (await stores.requests.fullBodies([accountId])).get(accountId);
        return found && found.until > clock.now() ? found : undefined;
      },
    ),

    /**
     * Switches the logging of whole bodies on for a day, or off (R416). Returns the time at which it ends, or undefined
     * if it is off.
     */
    setLogging: operation(
      'request.setLogging',
      { roles: ['OWNER', 'ADMIN'], stepUp: true },
      async (caller, { fullBodies }: { readonly fullBodies: boolean }): Promise<FullBodies | undefined> => {
        const accountId = accountIdOf(caller);
        const from = clock.now();
        const until = fullBodies ? new Date(from.getTime() + FULL_BODIES_HOURS * 3_600_000) : from;
        await uow.run(async (tx) => {
          await tx.requests.setFullBodies(accountId, { from, until });
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'account.setRequestLogging',
            target: accountId,
            after: { fullBodies, ...(fullBodies ? { until: until.toISOString() } : {}) },
          });
        });
        return fullBodies ? { from, until } : undefined;
      },
    ),
  };
}

function checkTexts(filter: RequestFilter): void {
  const faults = Object.entries(filter).flatMap(([name, value]) =>
    typeof value === 'string' && value.length > FILTER_MAX_LENGTH
      ? [{ path: `filter.${name}`, message: `must have at most ${FILTER_MAX_LENGTH} characters` }]
      : [],
  );
  if (faults.length > 0) throw validationError(faults);
}
