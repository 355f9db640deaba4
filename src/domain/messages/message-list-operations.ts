import { refuseMaskedSearch, shownDeliveries, shownEvents, shownMessages } from '../accounts/inspection.ts';
import { ACCOUNT_ROLES, accountIdOf, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import {
  type Slice,
  sliceOf,
  type TwoWayRange,
  type TwoWaySliceInput,
  twoWayRange,
  twoWaySliceOf,
} from '../paging.ts';
import type { ChannelCounter, MessageKey, MessageListFilter } from '../ports/list-stores.ts';
import type { RecipientKey } from '../ports/message-stores.ts';
import type { Stores } from '../ports/stores.ts';
import { isUuid } from '../uuid.ts';
import type { RecordedEvent } from '../webhooks/event.ts';
import type { WebhookDelivery } from '../webhooks/webhook.ts';
import { CHANNELS, type Channel, type Message, type Recipient, type TimelineEntry } from './message.ts';
import { timelineOf } from './message-operations.ts';
import { searchedDigits } from './msisdn.ts';

const SEARCH_MAX_LENGTH = 100;
/**
 * The form of a cursor. The list merges the lists of four channels. So a cursor holds a position for each channel, and
 * the channel of the last message.
 */
const CHANNELS_KEY = /^[0-9]{1,15}(\.[0-9]{1,15}){3}\.[0-3]$/;
export const MESSAGE_ORDERS = ['time', 'cost'] as const;
export type MessageOrder = (typeof MESSAGE_ORDERS)[number];
const READ = { roles: ACCOUNT_ROLES } as const;

export interface MessageListInput extends TwoWaySliceInput {
  readonly filter?: MessageListFilter | undefined;
  readonly orderBy?: MessageOrder | undefined;
}
/** A number for each channel. The list continues with the messages whose numbers are smaller. */
type Positions = ReadonlyMap<Channel, number>;
interface MessageWithCursor {
  readonly message: Message;
  readonly after: Positions;
}

/** Lists of messages, and batch look-ups of their recipients, events, deliveries and timelines. */
export function messageListOperations({ stores }: Pick<Dependencies, 'stores'>) {
  const costliest = async (
    caller: Caller,
    filter: MessageListFilter,
    { limit, after, isBackward }: TwoWayRange,
  ): Promise<Slice<Message>> => {
    const accountId = accountIdOf(caller);
    if (isBackward) throw validationError([{ path: 'last', message: 'is not possible with orderBy: COST' }]);
    if (after !== undefined) {
      throw validationError([
        { path: 'after', message: 'is not possible with orderBy: COST, which has one page' },
      ]);
    }
    const ids = await stores.messageLists.costliest(accountId, filter, limit - 1);
    const found = shownMessages(caller, await stores.messageLists.findMany(accountId, ids));
    const byId = new Map(found.map((message) => [message.id, message]));
    const rows = ids.flatMap((id) => byId.get(id) ?? []);
    const total = () => stores.messageLists.count(accountId, filter);
    const searchedBackTo = () =>
      stores.messageLists.searchStop(
        accountId,
        filter,
        new Map((filter.channel ?? CHANNELS).map((channel) => [channel, undefined])),
      );
    return { ...sliceOf(rows, { limit, after }, ({ id }) => id, total), searchedBackTo };
  };

  return {
    /**
     * Lists the messages of all channels, either the newest first or the costliest first. The list by cost has only one
     * page (R294). Throws `validation_error` for `last` or `before` with a search or by cost (R390).
     */
    list: operation(
      'message.list',
      READ,
      async (caller, input: MessageListInput): Promise<Slice<Message>> => {
        const accountId = accountIdOf(caller);
        const filter = readFilter(input.filter ?? {});
        checkSearch(filter);
        refuseMaskedSearch(caller, filter.search);
        const range = twoWayRange(input, CHANNELS_KEY);
        if (input.orderBy === 'cost') return costliest(caller, filter, range);
        const isServed = !isSearch(filter) && filter.recipientStatus === undefined;
        if (range.isBackward && !isServed) throw searchFromEnd();
        const counters = await stores.messageLists.counters(accountId);
        const start = startOf(range, counters);
        const read = onlyChannels(start, filter.channel);
        const foundKeys = await (range.isBackward
          ? stores.messageLists.keysFrom(accountId, filter, read, range.limit)
          : stores.messageLists.keys(accountId, filter, read, range.limit));
        const keys = merge(foundKeys, range.limit, range.isBackward);
        const ids = keys.map((key) => key.id);
        const found = shownMessages(caller, await stores.messageLists.findMany(accountId, ids));
        const withCursor = withCursors(keys, found, start, range.isBackward);
        const slice = twoWaySliceOf(
          withCursor,
          range,
          ({ after, message }) => [...after.values(), CHANNELS.indexOf(message.channel)].join('.'),
          () => totalOf(stores, accountId, filter, counters),
        );
        const edges = slice.edges.map(({ cursor, node }) => ({ cursor, node: node.message }));
        if (!isSearch(filter)) return { ...slice, edges };
        const ended = onlyEnded(read, foundKeys, range.limit);
        return {
          ...slice,
          edges,
          searchedBackTo: () => stores.messageLists.searchStop(accountId, filter, ended),
        };
      },
    ),

    /**
     * Returns one message without its recipients and timeline. Throws `not_found`, also for another account's message.
     */
    find: operation(
      'message.find',
      READ,
      async (caller, input: { readonly id: string }): Promise<Message> => {
        const [message] = isUuid(input.id)
          ? shownMessages(caller, await stores.messageLists.findMany(accountIdOf(caller), [input.id]))
          : [];
        if (!message) throw notFound('Message');
        return message;
      },
    ),

    /** Returns messages by id. It leaves out messages of other accounts. */
    findMany: operation(
      'message.findMany',
      READ,
      async (caller, input: { readonly ids: readonly string[] }) => {
        const found = await stores.messageLists.findMany(accountIdOf(caller), input.ids.filter(isUuid));
        return shownMessages(caller, found);
      },
    ),

    recipientsOf: operation(
      'message.recipientsOf',
      READ,
      async (caller, input: { readonly messages: readonly Message[] }): Promise<readonly Recipient[]> =>
        stores.messageLists.recipients(accountIdOf(caller), ownIds(caller, input.messages)),
    ),

    /** Returns single recipients of messages, for ledger entries that refund them. */
    recipientsAt: operation(
      'message.recipientsAt',
      READ,
      async (caller, input: { readonly keys: readonly RecipientKey[] }): Promise<readonly Recipient[]> =>
        stores.messageLists.recipientsAt(accountIdOf(caller), input.keys),
    ),

    eventsOf: operation(
      'message.eventsOf',
      READ,
      async (caller, input: { readonly messages: readonly Message[] }): Promise<readonly RecordedEvent[]> => {
        const ids = ownIds(caller, input.messages);
        return shownEvents(caller, await stores.events.ofMessages(accountIdOf(caller), ids));
      },
    ),

    /** Returns at most `limit` webhook deliveries of the messages' events, oldest first. */
    deliveriesOf: operation(
      'message.deliveriesOf',
      READ,
      async (
        caller,
        input: { readonly messages: readonly Message[]; readonly limit: number },
      ): Promise<readonly WebhookDelivery[]> => {
        const ids = ownIds(caller, input.messages);
        const { limit } = input;
        return shownDeliveries(
          caller,
          await stores.deliveryLists.ofMessages(accountIdOf(caller), ids, limit),
        );
      },
    ),

    /** Returns the timeline of each message, keyed by message id (R20). */
    timelinesOf: operation(
      'message.timelinesOf',
      READ,
      async (
        caller,
        input: { readonly messages: readonly Message[] },
      ): Promise<ReadonlyMap<string, readonly TimelineEntry[]>> => {
        const accountId = accountIdOf(caller);
        const ids = ownIds(caller, input.messages);
        const recipients = Map.groupBy(
          await stores.messageLists.recipients(accountId, ids),
          (recipient) => recipient.messageId,
        );
        const notes = Map.groupBy(
          await stores.messageLists.timelineNotes(accountId, ids),
          (note) => note.messageId,
        );
        return new Map(
          input.messages.map((message) => [
            message.id,
            timelineOf(message, recipients.get(message.id) ?? [], notes.get(message.id) ?? []),
          ]),
        );
      },
    ),
  };
}

/**
 * Returns the number of messages in a list. Without a filter it is the sum of the channels' counters. With one, the
 * message index counts.
 */
function totalOf(
  stores: Pick<Stores, 'messageLists'>,
  accountId: string,
  filter: MessageListFilter,
  counters: ReadonlyMap<Channel, ChannelCounter>,
): Promise<number> {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (isFiltered) return stores.messageLists.count(accountId, filter);
  return Promise.resolve([...counters.values()].reduce((sum, { kept }) => sum + kept, 0));
}

/** True if no index serves the filter. Then only the newest messages are searched. */
function isSearch({ search, sender, errorCode, provider, recipientStatus }: MessageListFilter): boolean {
  const unlisted = recipientStatus === 'failed' ? undefined : recipientStatus;
  return [search, sender, errorCode, provider, unlisted].some((value) => value !== undefined && value !== '');
}

/** Returns the refusal of a search that should start at the end of the list. No index finds the last matching rows. */
export function searchFromEnd() {
  const message = 'last and before are not possible with filters that no index serves';
  return validationError([{ path: 'last', message }]);
}

/**
 * Returns the channels for which fewer rows than `limit` were found. In these channels the list ends, or the search has
 * stopped.
 */
export function onlyEnded<Place>(
  read: ReadonlyMap<Channel, Place>,
  found: readonly Pick<MessageKey, 'channel'>[],
  limit: number,
): ReadonlyMap<Channel, Place> {
  const counts = Map.groupBy(found, ({ channel }) => channel);
  return new Map([...read].filter(([channel]) => (counts.get(channel)?.length ?? 0) < limit));
}

/**
 * Returns the filter in the form for the stores. An empty list is left out, because it means all. A phone number is
 * searched by its digits, so it is found in every spelling that a send accepts (R340).
 */
export function readFilter({ channel, status, search, ...rest }: MessageListFilter): MessageListFilter {
  return {
    ...rest,
    search: search === undefined ? undefined : searchedDigits(search),
    channel: channel?.length ? channel : undefined,
    status: status?.length ? status : undefined,
  };
}

/** Checks the length of the search text. Throws `validation_error`. */
export function checkSearch({ search }: MessageListFilter): void {
  if (search === undefined || search.length <= SEARCH_MAX_LENGTH) return;
  const message = `must have at most ${SEARCH_MAX_LENGTH} characters`;
  throw validationError([{ path: 'filter.search', message }]);
}

function ownIds(caller: Caller, messages: readonly Message[]): string[] {
  const accountId = accountIdOf(caller);
  if (messages.some((message) => message.accountId !== accountId)) throw notFound('Message');
  return messages.map((message) => message.id);
}

/**
 * Returns a number for each channel. A page has the messages with smaller numbers. A page that is read backward has the
 * messages from this number on.
 */
function startOf(
  { isBackward, after, before }: TwoWayRange,
  counters: ReadonlyMap<Channel, ChannelCounter>,
): Positions {
  const key = isBackward ? before : after;
  if (key === undefined) {
    const startIn = ({ last, kept }: ChannelCounter) => (isBackward ? last - kept : last) + 1;
    return new Map([...counters].map(([channel, counter]) => [channel, startIn(counter)]));
  }
  const numbers = key.split('.').map(Number);
  // The page must not repeat the message of the cursor. So start one number above it.
  const own = isBackward ? numbers.at(-1) : undefined;
  return new Map(
    CHANNELS.map((channel, index) => [channel, (numbers[index] ?? 0) + (index === own ? 1 : 0)]),
  );
}

function onlyChannels(positions: Positions, channels: readonly Channel[] | undefined): Positions {
  if (channels === undefined) return positions;
  return new Map([...positions].filter(([channel]) => channels.includes(channel)));
}

/**
 * Merges the channels' lists and returns the newest `limit` messages, or with `isBackward` the oldest ones, oldest
 * first. Messages of the same channel stay in the order of `seq`. So the position in the cursor never skips a message
 * of that channel. Both directions have the same order: by time, then by channel.
 */
export function merge<Key extends MessageKey>(
  keys: readonly Key[],
  limit: number,
  isBackward = false,
): Key[] {
  const lists = [...Map.groupBy(keys, (key) => key.channel).values()];
  const merged: Key[] = [];
  while (merged.length < limit) {
    let next: Key[] | undefined;
    for (const list of lists) {
      if (list[0] && (!next?.[0] || isNewer(list[0], next[0]) !== isBackward)) next = list;
    }
    const taken = next?.shift();
    if (!taken) break;
    merged.push(taken);
  }
  return merged;
}

/** Compares messages of different channels. */
function isNewer(left: MessageKey, right: MessageKey): boolean {
  const difference = left.createdAt.getTime() - right.createdAt.getTime();
  if (difference !== 0) return difference > 0;
  return CHANNELS.indexOf(left.channel) < CHANNELS.indexOf(right.channel);
}

function withCursors(
  keys: readonly MessageKey[],
  found: readonly Message[],
  start: Positions,
  isBackward = false,
): MessageWithCursor[] {
  const byId = new Map(found.map((message) => [message.id, message]));
  let passed = start;
  return keys.flatMap(({ id, channel, seq }) => {
    const after = new Map([...passed, [channel, seq]]);
    // A page that is read backward goes from old to new. After the cursor of a newer message, the list continues with
    // this message, so its number must be below the position.
    passed = isBackward ? new Map([...passed, [channel, seq + 1]]) : after;
    const message = byId.get(id);
    return message ? [{ message, after }] : [];
  });
}
