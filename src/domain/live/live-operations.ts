import type { Alert } from '../alerts/alert.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import { withMaskedUrls } from '../audit/audit-operations.ts';
import { ACCOUNT_ROLES, accountIdOf, type Environment, visibilityOf } from '../caller.ts';
import type { ContactImport } from '../contacts/contact-import.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import type { Message } from '../messages/message.ts';
import { checkSearch, readFilter } from '../messages/message-list-operations.ts';
import { STALE_MS } from '../messages/provider-health.ts';
import { operation } from '../operation.ts';
import { type LiveKind, NO_ACCOUNT } from '../ports/changes.ts';
import type { MessageListFilter } from '../ports/list-stores.ts';
import type { PublishedStatus } from '../ports/routing.ts';
import type { UsageRow } from '../usage/usage.ts';
import { isUuid } from '../uuid.ts';
import type { WebhookDelivery } from '../webhooks/webhook.ts';
import { type Pace, REFETCH, type Shown, type Watch } from './watch.ts';

const READ = { roles: ACCOUNT_ROLES } as const;
/**
 * How fast changed objects are delivered: at most 50 every 100 ms, which is 500 a second. A dashboard can still show
 * that many. Each delivery needs one query. If more objects change for a long time, the client gets `REFETCH` instead.
 */
const OBJECTS: Pace = { most: 50, everyMs: 100 };
const TICKS: Pace = { most: Number.POSITIVE_INFINITY, everyMs: 1_000 };

/** Input of every subscription. The subscription ends when `signal` aborts. */
interface Until {
  readonly signal: AbortSignal;
}
/** The usage of today (in UTC), up to now. */
export interface UsageTick {
  readonly at: Date;
  /** Start of the day in UTC. */
  readonly day: Date;
  /** The day's messages, counted by their present status. */
  readonly counts: readonly UsageRow[];
  readonly balanceMinor: number;
  readonly currency: string;
}

/**
 * Subscriptions to changes. Each object is read when it is delivered. If changes cannot be delivered in time, `REFETCH`
 * is delivered instead. A subscription misses no change that commits after its operation has resolved.
 */
export function liveOperations({ stores, clock, live }: Pick<Dependencies, 'stores' | 'clock' | 'live'>) {
  return {
    /** Delivers new and changed messages that match the filter when they are read. With `id`, only that message. */
    messages: operation(
      'message.watch',
      READ,
      async (
        caller,
        input: Until & { readonly id?: string | undefined; readonly filter?: MessageListFilter | undefined },
      ): Promise<AsyncGenerator<Shown<readonly Message[]>>> => {
        const accountId = accountIdOf(caller);
        const { signal } = input;
        const filter = readFilter(input.filter ?? {});
        checkSearch(filter);
        const read = (ids: readonly string[]) => stores.messageLists.findMany(accountId, ids, filter);
        const id = input.id?.toLowerCase();
        const exists =
          id === undefined ||
          (isUuid(id) && (await stores.messageLists.findMany(accountId, [id])).length > 0);
        if (!exists) throw notFound('Message');
        return deliverObjects(await live.watch(accountId, ['message'], signal, id), read);
      },
    ),

    /** Delivers new and changed webhook deliveries. With `webhookId`, only deliveries to this endpoint. */
    deliveries: operation(
      'delivery.watch',
      READ,
      async (
        caller,
        input: Until & { readonly webhookId?: string | undefined },
      ): Promise<AsyncGenerator<Shown<readonly WebhookDelivery[]>>> => {
        const accountId = accountIdOf(caller);
        const { webhookId, signal } = input;
        const exists =
          webhookId === undefined ||
          (isUuid(webhookId) && (await stores.webhooks.find(visibilityOf(caller), webhookId)) !== undefined);
        if (!exists) throw notFound('Webhook');
        const read = (ids: readonly string[]) => stores.deliveryLists.findMany(accountId, ids, webhookId);
        return deliverObjects(await live.watch(accountId, ['delivery'], signal), read);
      },
    ),

    /**
     * Delivers new imports of contacts and the progress of imports. With `id`, delivers only the progress of this
     * import.
     */
    imports: operation(
      'contact.watchImports',
      READ,
      async (
        caller,
        input: Until & { readonly id?: string | undefined },
      ): Promise<AsyncGenerator<Shown<readonly ContactImport[]>>> => {
        const visibility = visibilityOf(caller);
        const id = input.id?.toLowerCase();
        const exists =
          id === undefined ||
          (isUuid(id) && (await stores.contactImports.find(visibility, id)) !== undefined);
        if (!exists) throw notFound('Import');
        const read = (ids: readonly string[]) => stores.contactImports.findMany(visibility, ids);
        return deliverObjects(await live.watch(visibility.accountId, ['import'], input.signal, id), read);
      },
    ),

    /** Delivers alerts that were opened or resolved. To operators, those that concern all accounts. */
    alerts: operation(
      'alert.watch',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (caller, { signal }: Until): Promise<AsyncGenerator<Shown<readonly Alert[]>>> => {
        const owner = caller.kind === 'operator' ? null : accountIdOf(caller);
        const read = (ids: readonly string[]) => stores.alerts.findMany(owner, ids);
        return deliverObjects(await live.watch(owner ?? NO_ACCOUNT, ['alert'], signal), read);
      },
    ),

    /** Delivers new entries of the account's audit log. */
    audit: operation(
      'audit.watch',
      READ,
      async (caller, { signal }: Until): Promise<AsyncGenerator<Shown<readonly AuditEntry[]>>> => {
        const accountId = accountIdOf(caller);
        const read = async (ids: readonly string[]) =>
          (await stores.audit.findMany(accountId, ids)).map(withMaskedUrls);
        return deliverObjects(await live.watch(accountId, ['audit'], signal), read);
      },
    ),

    /**
     * Delivers the reports about providers that have changed, at most once a second. Delivers `REFETCH` if a report is
     * gone, for example because its process has stopped.
     */
    providers: operation(
      'provider.watch',
      { operator: 'reading' },
      async (_caller, { signal }: Until): Promise<AsyncGenerator<Shown<readonly PublishedStatus[]>>> => {
        const read = () => stores.providerHealth.publishedSince(new Date(clock.now().getTime() - STALE_MS));
        return deliverReports(await live.watch(NO_ACCOUNT, ['provider'], signal), read, await read());
      },
    ),

    /**
     * Delivers that something of these kinds changed in the account, at most once a second. Delivers at once for the
     * first time, so that the subscriber reads then, too.
     */
    commits: operation(
      'query.watch',
      READ,
      async (
        caller,
        input: Until & { readonly kinds: readonly LiveKind[] },
      ): Promise<AsyncGenerator<Shown<readonly string[]>>> => {
        const watch = await live.watch(accountIdOf(caller), input.kinds, input.signal);
        watch.note(undefined);
        return watch.changes(TICKS);
      },
    ),

    /** Delivers today's counts and the balance after each change, at most once a second. */
    usage: operation(
      'usage.watch',
      READ,
      async (
        caller,
        input: Until & { readonly environment?: Environment | undefined },
      ): Promise<AsyncGenerator<readonly UsageTick[]>> => {
        const accountId = accountIdOf(caller);
        const { environment, signal } = input;
        async function read(): Promise<UsageTick> {
          const at = clock.now();
          const day = new Date(at);
          day.setUTCHours(0, 0, 0, 0);
          const query = { from: day, to: at, interval: 'day', groupBy: ['status'], environment } as const;
          const account = await stores.accounts.find(accountId);
          if (!account) throw notFound('Account');
          // Read the usage last. This query resolves only when everything that was read before it is on the disk.
          const counts = await stores.usage.query(accountId, query);
          return { at, day, counts, balanceMinor: account.balanceMinor, currency: account.currency };
        }
        const watch = await live.watch(accountId, ['message', 'usage'], signal);
        return deliverTicks(watch, read, await read());
      },
    ),
  };
}

async function* deliverObjects<T>(
  watch: Watch,
  read: (ids: readonly string[]) => Promise<readonly T[]>,
): AsyncGenerator<Shown<readonly T[]>> {
  for await (const ids of watch.changes(OBJECTS)) {
    const found = ids === REFETCH ? ids : await read(ids);
    if (found === REFETCH || found.length > 0) yield found;
  }
}

async function* deliverReports(
  watch: Watch,
  read: () => Promise<readonly PublishedStatus[]>,
  first: readonly PublishedStatus[],
): AsyncGenerator<Shown<readonly PublishedStatus[]>> {
  const contentsOf = (reports: readonly PublishedStatus[]) =>
    new Map(
      reports.map((report) => [
        JSON.stringify([report.process, report.channel, report.name]),
        { report, content: JSON.stringify({ ...report, seenAt: null }) },
      ]),
    );
  let last = contentsOf(first);
  for await (const ids of watch.changes(TICKS)) {
    const now = contentsOf(await read());
    const isGone = [...last.keys()].some((key) => !now.has(key));
    const changed = [...now].filter(([key, { content }]) => last.get(key)?.content !== content);
    last = now;
    if (ids === REFETCH || isGone) yield REFETCH;
    else if (changed.length > 0) yield changed.map(([, { report }]) => report);
  }
}

async function* deliverTicks(
  watch: Watch,
  read: () => Promise<UsageTick>,
  first: UsageTick,
): AsyncGenerator<readonly UsageTick[]> {
  const contentOf = (tick: UsageTick) => JSON.stringify({ ...tick, at: null });
  let last = contentOf(first);
  // One read includes all changes so far. So several changes during a pause need only one read.
  for await (const _ of watch.changes(TICKS)) {
    const tick = await read();
    const content = contentOf(tick);
    if (content !== last) yield [tick];
    last = content;
  }
}
