import { ACCOUNT_ROLES, accountIdOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import { keyRange, type Slice, type SliceInput, sliceOf } from '../paging.ts';
import type { ListedRecipient, RecipientListFilter, RecipientPlace } from '../ports/list-stores.ts';
import { parseMailbox } from './email-address.ts';
import { CHANNELS, type Channel } from './message.ts';
import { merge, onlyEnded } from './message-list-operations.ts';
import { parseMsisdn } from './msisdn.ts';

/**
 * The form of a cursor. It holds the number of the last message of each channel, the channel of the last recipient, and
 * the recipient's position in its message.
 */
const PLACE_KEY = /^[0-9]{1,15}(\.[0-9]{1,15}){3}\.[0-3]\.[0-9]{1,5}$/;
/** A position after the last recipient of any message. */
const AFTER_ALL = 32_767;

export interface RecipientListInput extends SliceInput {
  readonly filter?: RecipientListFilter | undefined;
}
type Places = ReadonlyMap<Channel, RecipientPlace>;

/** Lists of the recipients of all messages. */
export function recipientListOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /**
     * Lists recipients (R333). The newest message comes first, and its recipients are in order of their position.
     * `filter.address` may have any form that a send accepts. Without it, only the newest `SEARCH_REACH` messages of
     * each channel between `from` and `to` are read.
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
        const range = keyRange(input, PLACE_KEY);
        const start = range.after === undefined ? await newest() : placesIn(range.after);
        const read = new Map([...start].filter(([one]) => channels.includes(one)));
        const found = await stores.recipientLists.list(accountId, filter, read, range.limit);
        const rows = withPlaces(merge(found, range.limit), start);
        const slice = sliceOf(rows, range, keyOf, () =>
          stores.recipientLists.count(accountId, filter, channels),
        );
        const edges = slice.edges.map(({ cursor, node }) => ({ cursor, node: node.recipient }));
        if (filter.address !== undefined) return { ...slice, edges };
        const ended = [...onlyEnded(read, found, range.limit)];
        // The search also reads the message with the number of the place itself. So start one number above it.
        const before = new Map(ended.map(([one, { seq }]) => [one, seq + 1]));
        return {
          ...slice,
          edges,
          searchedBackTo: () => stores.messageLists.searchStop(accountId, filter, before),
        };

        async function newest(): Promise<Places> {
          const counters = await stores.messageLists.counters(accountId);
          return new Map(
            [...counters].map(([one, { last }]) => [one, { seq: last + 1, position: AFTER_ALL }]),
          );
        }
      },
    ),
  };
}

/**
 * Returns the address in the form in which it is stored. A text that is neither a phone number nor an email address is
 * the address of a device.
 */
function storedForm(address: string): string {
  const parsed = address.includes('@') ? parseMailbox(address)?.address : parseMsisdn(address);
  return parsed ?? address;
}

interface PlacedRecipient {
  readonly recipient: ListedRecipient;
  readonly places: Places;
}

/** Adds to each recipient the places after which the list continues, one for each channel. */
function withPlaces(found: readonly ListedRecipient[], start: Places): PlacedRecipient[] {
  let places = start;
  return found.map((recipient) => {
    const { channel, seq, position } = recipient;
    // Messages of other channels that were shown before were shown with all their recipients.
    const passed = [...places].map(([one, place]) => [one, { ...place, position: AFTER_ALL }] as const);
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
