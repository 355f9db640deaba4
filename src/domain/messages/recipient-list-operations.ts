import { ACCOUNT_ROLES, accountIdOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import { type Slice, type TwoWaySliceInput, twoWayRange, twoWaySliceOf } from '../paging.ts';
import type { ListedRecipient, RecipientListFilter, RecipientPlace } from '../ports/list-stores.ts';
import { parseMailbox } from './email-address.ts';
import { CHANNELS, type Channel } from './message.ts';
import { merge, onlyEnded, searchFromEnd } from './message-list-operations.ts';
import { parseMsisdn } from './msisdn.ts';

/**
 * The form of a cursor. It holds the number of the last message of each channel, the channel of the last recipient, and
 * the recipient's position in its message.
 */
const PLACE_KEY = /^[0-9]{1,15}(\.[0-9]{1,15}){3}\.[0-3]\.[0-9]{1,5}$/;
/** Stands for the end of a message's recipients. It is larger than the position of any recipient. */
const AFTER_ALL = 32_767;

export interface RecipientListInput extends TwoWaySliceInput {
  readonly filter?: RecipientListFilter | undefined;
}
type Places = ReadonlyMap<Channel, RecipientPlace>;

/** Lists of the recipients of all messages. */
export function recipientListOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /**
     * Lists recipients (R333). The newest message comes first, and its recipients are in order of their position.
     * `filter.address` may have any form that a send accepts. Without it, only the newest `SEARCH_REACH` messages of
     * each channel between `from` and `to` are read. Throws `validation_error` for `last` or `before` with a filter
     * that no index serves (R390).
     */
    list: operation(
      'message.listRecipients',
      { roles: ACCOUNT_ROLES },
      async (caller, input: RecipientListInput): Promise<Slice<ListedRecipient>> => {
        const accountId = accountIdOf(caller);
        const { channel, status, address, ...rest } = input.filter ?? {};
        const channels = channel?.length ? channel : CHANNELS;
        const filter: RecipientListFilter = {
          ...rest,
          status: status?.length ? status : undefined,
          address: address === undefined ? undefined : storedForm(address),
        };
        const range = twoWayRange(input, PLACE_KEY);
        const { isBackward = false, limit } = range;
        if (isBackward && !isIndexed(filter)) throw searchFromEnd();
        const key = isBackward ? range.before : range.after;
        const start = key === undefined ? await end() : placesIn(key);
        const read = new Map([...start].filter(([one]) => channels.includes(one)));
        const found = isBackward
          ? await stores.recipientLists.listBefore(accountId, filter, read, limit)
          : await stores.recipientLists.list(accountId, filter, read, limit);
        const rows = withPlaces(merge(found, limit, isBackward), start, isBackward);
        const slice = twoWaySliceOf(rows, range, keyOf, () =>
          stores.recipientLists.count(accountId, filter, channels),
        );
        const edges = slice.edges.map(({ cursor, node }) => ({ cursor, node: node.recipient }));
        if (filter.address !== undefined || isBackward) return { ...slice, edges };
        const ended = [...onlyEnded(read, found, range.limit)];
        // A page may continue inside the message of its place, so the search reads that message, too. Only numbers
        // below `before` count as read. So add 1.
        const before = new Map(ended.map(([one, { seq }]) => [one, seq + 1]));
        return {
          ...slice,
          edges,
          searchedBackTo: () => stores.messageLists.searchStop(accountId, filter, before),
        };

        /** Returns the places of the first page: at the start of the list, or at its end if `isBackward`. */
        async function end(): Promise<Places> {
          const counters = await stores.messageLists.counters(accountId);
          return new Map(
            [...counters].map(([one, { last, kept }]) => [
              one,
              { seq: (isBackward ? last - kept : last) + 1, position: AFTER_ALL },
            ]),
          );
        }
      },
    ),
  };
}

/**
 * Returns the address in its stored form. A text that is neither a phone number nor an email address is the address of
 * a device.
 */
function storedForm(address: string): string {
  const parsed = address.includes('@') ? parseMailbox(address)?.address : parseMsisdn(address);
  return parsed ?? address;
}

/** True if an index serves the filter: it has an address, or only a channel and a time span. */
function isIndexed({
  address,
  channel: _channel,
  from: _from,
  to: _to,
  ...rest
}: RecipientListFilter): boolean {
  return address !== undefined || Object.values(rest).every((value) => value === undefined);
}

interface PlacedRecipient {
  readonly recipient: ListedRecipient;
  readonly places: Places;
}

/** Adds to each recipient the places after which the list continues, one for each channel. */
function withPlaces(
  found: readonly ListedRecipient[],
  start: Places,
  isBackward: boolean,
): PlacedRecipient[] {
  let places = start;
  // The list shows all recipients of a message before it goes on to a message of another channel. So the place of
  // another channel moves past its last shown message: below it, or above it if the list is read backward.
  const passedBy = ({ seq, position }: RecipientPlace) =>
    isBackward && position !== AFTER_ALL ? seq + 1 : seq;
  return found.map((recipient) => {
    const { channel, seq, position } = recipient;
    const passed = [...places].map(
      ([one, place]) => [one, { seq: passedBy(place), position: AFTER_ALL }] as const,
    );
    places = new Map([...passed, [channel, { seq, position }]]);
    return { recipient, places };
  });
}

function keyOf({ recipient, places }: PlacedRecipient): string {
  const seqs = CHANNELS.map((channel) => places.get(channel)?.seq ?? 0);
  return [...seqs, CHANNELS.indexOf(recipient.channel), recipient.position].join('.');
}

function placesIn(key: string): Places {
  const numbers = key.split('.').map(Number);
  const [current, position = 0] = numbers.slice(CHANNELS.length);
  return new Map(
    CHANNELS.map((channel, index) => [
      channel,
      { seq: numbers[index] ?? 0, position: index === current ? position : AFTER_ALL },
    ]),
  );
}
