import DataLoader from 'dataloader';
import type { Account } from '../domain/accounts/account.ts';
import type { Actor } from '../domain/accounts/actor.ts';
import type { ApiKey, ScopeUse } from '../domain/api-keys/api-key.ts';
import type { KeyPermissions } from '../domain/api-keys/api-key-operations.ts';
import type { KeyUsage } from '../domain/api-keys/key-requests.ts';
import type { ContactImport, ReportedFault } from '../domain/contacts/contact-import.ts';
import type { Message, Recipient, TimelineEntry } from '../domain/messages/message.ts';
import type { FoundObject } from '../domain/objects/object-operations.ts';
import type { Operation } from '../domain/operation.ts';
import type { Operations } from '../domain/operations.ts';
import type { Slice, TwoWaySliceInput } from '../domain/paging.ts';
import type { AccountTrouble } from '../domain/platform/account-troubles.ts';
import type { DeliveryCounts } from '../domain/ports/list-stores.ts';
import type { RecipientKey } from '../domain/ports/message-stores.ts';
import type { ApiRequest } from '../domain/requests/api-request.ts';
import type {
  DeliveryAnalyticsInput,
  DeliveryBucket,
} from '../domain/webhooks/delivery-analytics-operations.ts';
import type { RecordedEvent } from '../domain/webhooks/event.ts';
import type { DeliveryAttempt, Webhook, WebhookDelivery } from '../domain/webhooks/webhook.ts';
import type { ListAllowance } from './list-bound.ts';

/** Key of a loader: an object and the page of its list. */
interface SliceKey<Of> {
  readonly of: Of;
  readonly slice: TwoWaySliceInput;
}

/** Runs an operation as the caller of the request. */
export type Run = <Input, Output>(operation: Operation<Input, Output>, input: Input) => Promise<Output>;

/** Key of a loader: a query for figures of the deliveries to a webhook. */
interface DeliveryAnalyticsKey {
  readonly webhookId: string;
  readonly input: Omit<DeliveryAnalyticsInput, 'webhookIds'>;
}
/** Key of a loader: the requests of an API key in a span of days. */
interface KeyUsageKey {
  readonly keyId: string;
  readonly from: Date;
  readonly to: Date;
}
const spanOf = ({ from, to }: KeyUsageKey) => `${from.toISOString()} ${to.toISOString()}`;

const placeOf = ({ messageId, position }: RecipientKey) => `${messageId} ${position}`;

/** Reads all webhooks of an account at once, because an account has few (R29). */
const ALL_WEBHOOKS = { page: 1, limit: 100 };
const NO_COUNTS: DeliveryCounts = { succeeded: 0, failed: 0, pending: 0, total: 0 };

/**
 * Makes the loaders for relations between objects. Each loader reads the relation for all objects of a request in one
 * query. Make new loaders for each request, because they cache.
 */
export function createLoaders(
  run: Run,
  {
    accounts,
    actors,
    objects,
    messageLists,
    apiKeyLists,
    webhooks,
    deliveries,
    contactImports,
    audit,
    requests,
    platform,
  }: Operations,
  allowance: ListAllowance,
) {
  const byMessage = <T>(load: (messages: readonly Message[]) => Promise<(message: Message) => T>) =>
    new DataLoader<Message, T, string>(
      async (messages) => {
        const find = await load(messages);
        return messages.map(find);
      },
      { cacheKeyFn: (message) => message.id },
    );
  const byKey = <Key, T>(load: (keys: readonly Key[]) => Promise<(key: Key) => T>) =>
    new DataLoader<Key, T>(async (keys) => {
      const find = await load(keys);
      return keys.map(find);
    });
  /** Makes a loader for pages of lists. Pages with the same arguments are read together in one query. */
  const bySlice = <Of extends { readonly id: string }, T>(
    load: (objects: readonly Of[], slice: TwoWaySliceInput) => Promise<ReadonlyMap<string, Slice<T>>>,
  ) =>
    new DataLoader<SliceKey<Of>, Slice<T>, string>(
      async (keys) => {
        const slices = new Map<string, ReadonlyMap<string, Slice<T>>>();
        for (const [arguments_, group] of Map.groupBy(keys, ({ slice }) => JSON.stringify(slice))) {
          const objects = group.map((key) => key.of);
          slices.set(arguments_, await load(objects, group[0]?.slice ?? {}));
        }
        return keys.map(
          ({ of, slice }) =>
            slices.get(JSON.stringify(slice))?.get(of.id) ?? new Error('the object has no slice'),
        );
      },
      { cacheKeyFn: ({ of, slice }) => `${of.id} ${JSON.stringify(slice)}` },
    );

  return {
    account: byKey<string, Account | null>(async (ids) => {
      const found = new Map((await run(accounts.findMany, { ids })).map((row) => [row.id, row]));
      return (id) => found.get(id) ?? null;
    }),
    troubles: byKey<string, readonly AccountTrouble[]>(async (accountIds) => {
      const rows = await run(platform.troublesOf, { accountIds });
      const found = new Map(rows.map(({ id, troubles }) => [id, troubles]));
      return (id) => found.get(id) ?? [];
    }),
    actor: byKey<string, Actor>(async (texts) => {
      const found = await run(actors.find, { texts });
      return (text) => found.get(text) ?? { kind: 'system', name: text };
    }),
    object: byKey<string, FoundObject | undefined>(async (ids) => {
      const found = await run(objects.find, { ids });
      return (id) => found.get(id.toLowerCase());
    }),
    targetName: byKey<string, string | null>(async (ids) => {
      const names = await run(audit.targetNames, { ids });
      return (id) => names.get(id) ?? null;
    }),
    auditLine: byKey<string, string | undefined>(async (ids) => {
      const lines = await run(audit.exportLines, { ids });
      return (id) => lines.get(id);
    }),
    recipients: byMessage<readonly Recipient[]>(async (messages) => {
      const rows = await run(messageLists.recipientsOf, { messages });
      const groups = Map.groupBy(rows, (row) => row.messageId);
      return (message) => groups.get(message.id) ?? [];
    }),
    recipientAt: new DataLoader<RecipientKey, Recipient | null, string>(
      async (keys) => {
        const rows = await run(messageLists.recipientsAt, { keys });
        const found = new Map(rows.map((row) => [placeOf(row), row]));
        return keys.map((key) => found.get(placeOf(key)) ?? null);
      },
      { cacheKeyFn: placeOf },
    ),
    events: byMessage<readonly RecordedEvent[]>(async (messages) => {
      const groups = Map.groupBy(await run(messageLists.eventsOf, { messages }), (row) => row.messageId);
      return (message) => groups.get(message.id) ?? [];
    }),
    deliveriesOf: byMessage<readonly WebhookDelivery[]>(async (messages) => {
      // This list can be as long as recipients times webhooks. The limit on recipients does not bound it enough, so its
      // length is limited here.
      const rows = await allowance.load((limit) => run(messageLists.deliveriesOf, { messages, limit }));
      const groups = Map.groupBy(rows, (row) => row.messageId);
      return (message) => groups.get(message.id) ?? [];
    }),
    timeline: byMessage<readonly TimelineEntry[]>(async (messages) => {
      const timelines = await run(messageLists.timelinesOf, { messages });
      return (message) => timelines.get(message.id) ?? [];
    }),
    message: byKey<string, Message | null>(async (ids) => {
      const found = new Map((await run(messageLists.findMany, { ids })).map((row) => [row.id, row]));
      return (id) => found.get(id) ?? null;
    }),
    requestOf: byKey<string, ApiRequest | null>(async (messageIds) => {
      const rows = await run(requests.ofMessages, { messageIds });
      const found = new Map(rows.map((row) => [row.messageId, row]));
      return (id) => found.get(id) ?? null;
    }),
    apiKey: byKey<string, ApiKey | null>(async (keyIds) => {
      const found = new Map((await run(apiKeyLists.findMany, { keyIds })).map((row) => [row.keyId, row]));
      return (keyId) => found.get(keyId) ?? null;
    }),
    successor: byKey<string, ApiKey | null>(async (keyIds) => {
      const found = new Map(
        (await run(apiKeyLists.successorsOf, { keyIds })).map((row) => [row.replaces, row]),
      );
      return (keyId) => found.get(keyId) ?? null;
    }),
    keyPermissions: byKey<ApiKey, KeyPermissions | undefined>(async (keys) => {
      const found = await run(apiKeyLists.permissionsOn, { keys });
      return ({ keyId }) => found.get(keyId);
    }),
    descendants: byKey<string, readonly ApiKey[]>(async (keyIds) => {
      const rows = await allowance.load((limit) => run(apiKeyLists.descendantsOf, { keyIds, limit }));
      const groups = Map.groupBy(rows, ({ issuer }) => issuer);
      return (keyId) => (groups.get(`key:${keyId}`) ?? []).map(({ key }) => key);
    }),
    keysOf: byKey<string, readonly ApiKey[]>(async (userIds) => {
      const rows = await allowance.load((limit) => run(apiKeyLists.heldBy, { userIds, limit }));
      const groups = Map.groupBy(rows, ({ issuer }) => issuer);
      return (userId) => (groups.get(`user:${userId}`) ?? []).map(({ key }) => key);
    }),
    scopeUse: byKey<string, readonly ScopeUse[]>(async (keyIds) => {
      const uses = await run(apiKeyLists.scopeUses, { keyIds });
      return (keyId) => uses.get(keyId) ?? [];
    }),
    keyUsage: new DataLoader<KeyUsageKey, readonly KeyUsage[], string>(
      async (keys) => {
        const found = new Map<string, Map<string, KeyUsage[]>>();
        for (const [span, group] of Map.groupBy(keys, spanOf)) {
          const { from, to } = group[0] as KeyUsageKey;
          const keyIds = group.map(({ keyId }) => keyId);
          const rows = await allowance.load((limit) => run(apiKeyLists.usage, { keyIds, from, to, limit }));
          found.set(
            span,
            Map.groupBy(rows, ({ keyId }) => keyId),
          );
        }
        return keys.map((key) => found.get(spanOf(key))?.get(key.keyId) ?? []);
      },
      { cacheKeyFn: (key) => `${key.keyId} ${spanOf(key)}` },
    ),
    webhook: byKey<string, Webhook | null>(async () => {
      const found = new Map((await run(webhooks.list, ALL_WEBHOOKS)).rows.map((row) => [row.id, row]));
      return (id) => found.get(id) ?? null;
    }),
    deliveryCounts: byKey<string, DeliveryCounts>(async (webhookIds) => {
      const counts = await run(deliveries.counts, { webhookIds });
      return (id) => counts.get(id) ?? NO_COUNTS;
    }),
    deliveryAnalytics: new DataLoader<DeliveryAnalyticsKey, readonly DeliveryBucket[], string>(
      async (keys) => {
        const found = new Map<string, ReadonlyMap<string, readonly DeliveryBucket[]>>();
        for (const [asked, group] of Map.groupBy(keys, ({ input }) => JSON.stringify(input))) {
          const { input } = group[0] as DeliveryAnalyticsKey;
          const webhookIds = group.map(({ webhookId }) => webhookId);
          found.set(asked, await run(deliveries.deliveryAnalytics, { ...input, webhookIds }));
        }
        return keys.map(({ webhookId, input }) => found.get(JSON.stringify(input))?.get(webhookId) ?? []);
      },
      { cacheKeyFn: ({ webhookId, input }) => `${webhookId} ${JSON.stringify(input)}` },
    ),
    attempts: byKey<string, readonly DeliveryAttempt[]>(async (deliveryIds) => {
      const groups = Map.groupBy(await run(deliveries.attemptsOf, { deliveryIds }), (row) => row.deliveryId);
      return (id) => groups.get(id) ?? [];
    }),
    importFaults: bySlice<ContactImport, ReportedFault>((imports, slice) =>
      run(contactImports.faultsOf, { ...slice, imports }),
    ),
    deliveriesTo: bySlice<Webhook, WebhookDelivery>((endpoints, slice) =>
      run(deliveries.toEach, { ...slice, webhookIds: endpoints.map(({ id }) => id) }),
    ),
    event: byKey<number, RecordedEvent | null>(async (seqs) => {
      const found = new Map((await run(deliveries.events, { seqs })).map((row) => [row.seq, row]));
      return (seq) => found.get(seq) ?? null;
    }),
  };
}
