import { shownDeliveries, shownEvents } from '../accounts/inspection.ts';
import { ACCOUNT_ROLES, accountIdOf, visibilityOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { type Slice, type TwoWaySliceInput, twoWayRange, twoWaySliceOf, UUID_KEY } from '../paging.ts';
import type { DeliveryCounts, DeliveryListFilter } from '../ports/list-stores.ts';
import type { DeliveryHeader } from '../ports/webhook-transport.ts';
import { isUuid } from '../uuid.ts';
import type { RecordedEvent } from './event.ts';
import { type DeliveryAttempt, EVENT_TYPES, type WebhookDelivery } from './webhook.ts';

const READ = { roles: ACCOUNT_ROLES } as const;

/** The filter as a request gives it: `event` can be any text until it is checked. */
type GivenFilter = Omit<DeliveryListFilter, 'event'> & { readonly event?: string | undefined };

/** Lists of deliveries, and batch look-ups of their counts, attempts and events. */
export function deliveryListOperations({ stores, transport }: Pick<Dependencies, 'stores' | 'transport'>) {
  return {
    /**
     * Lists the deliveries to the account's endpoints, newest first (R470). Deliveries to deleted endpoints are
     * included.
     */
    list: operation(
      'delivery.list',
      READ,
      async (
        caller,
        input: TwoWaySliceInput & { readonly filter?: GivenFilter | undefined },
      ): Promise<Slice<WebhookDelivery>> => {
        const accountId = accountIdOf(caller);
        const filter = checkEvent(input.filter ?? {});
        const range = twoWayRange(input, UUID_KEY);
        const rows = shownDeliveries(caller, await stores.deliveryLists.list(accountId, filter, range));
        return twoWaySliceOf(
          rows,
          range,
          (row) => row.id,
          () => stores.deliveryLists.count(accountId, filter),
        );
      },
    ),

    /** Lists the deliveries of several endpoints, newest first. The result is keyed by endpoint id. */
    toEach: operation(
      'delivery.toEach',
      READ,
      async (
        caller,
        input: TwoWaySliceInput & { readonly webhookIds: readonly string[] },
      ): Promise<ReadonlyMap<string, Slice<WebhookDelivery>>> => {
        const accountId = accountIdOf(caller);
        const { webhookIds } = input;
        const range = twoWayRange(input, UUID_KEY);
        const found = await stores.deliveryLists.listToEach(accountId, webhookIds, range);
        const rows = shownDeliveries(caller, found);
        const groups = Map.groupBy(rows, (row) => row.webhookId);
        let counts: Promise<ReadonlyMap<string, DeliveryCounts>> | undefined;
        const total = async (id: string) => {
          counts ??= stores.deliveryLists.countsToEach(accountId, webhookIds);
          return (await counts).get(id)?.total ?? 0;
        };
        const slice = (id: string) =>
          twoWaySliceOf(
            groups.get(id) ?? [],
            range,
            (row) => row.id,
            () => total(id),
          );
        return new Map(webhookIds.map((id) => [id, slice(id)]));
      },
    ),

    /** Returns one delivery, even if its endpoint was deleted. Throws `not_found`. */
    find: operation('delivery.find', READ, async (caller, input: { readonly id: string }) => {
      const delivery = isUuid(input.id)
        ? await stores.deliveries.find(visibilityOf(caller), input.id)
        : undefined;
      const [shown] = shownDeliveries(caller, delivery ? [delivery] : []);
      if (!shown) throw notFound('Delivery');
      return shown;
    }),

    /** Counts deliveries by status. The result is keyed by endpoint id. */
    counts: operation(
      'delivery.counts',
      READ,
      (
        caller,
        input: { readonly webhookIds: readonly string[] },
      ): Promise<ReadonlyMap<string, DeliveryCounts>> =>
        stores.deliveryLists.countsToEach(accountIdOf(caller), input.webhookIds),
    ),

    attemptsOf: operation(
      'delivery.attemptsOf',
      READ,
      async (
        caller,
        input: { readonly deliveryIds: readonly string[] },
      ): Promise<readonly (DeliveryAttempt & { deliveryId: string })[]> => {
        const attempts = await stores.deliveries.attempts(accountIdOf(caller), input.deliveryIds);
        return [...attempts].flatMap(([deliveryId, own]) =>
          own.map((attempt) => ({ ...attempt, deliveryId })),
        );
      },
    ),

    /** Returns the headers that each attempt of a delivery has, with the values that are certain (R471). */
    headersOf: operation(
      'delivery.headersOf',
      READ,
      async (
        _caller,
        { id, event }: Pick<WebhookDelivery, 'id' | 'event'>,
      ): Promise<readonly DeliveryHeader[]> => transport.headersOf({ deliveryId: id, event }),
    ),

    /** Returns the events of the account's feed that have the numbers `seqs`. */
    events: operation(
      'delivery.events',
      READ,
      async (caller, input: { readonly seqs: readonly number[] }): Promise<readonly RecordedEvent[]> =>
        shownEvents(caller, await stores.events.findMany(accountIdOf(caller), input.seqs)),
    ),
  };
}

/** Checks that `event` is a known event type. Throws `validation_error`. */
function checkEvent({ event, ...filter }: GivenFilter): DeliveryListFilter {
  if (event === undefined) return filter;
  const known = EVENT_TYPES.find((type) => type === event);
  if (known) return { ...filter, event: known };
  throw validationError([{ path: 'filter.event', message: `must be one of ${EVENT_TYPES.join(', ')}` }]);
}
