import type { AccountEnvironment } from '../../domain/caller.ts';
import type { Changes } from '../../domain/ports/changes.ts';
import type { SuppressionStore } from '../../domain/ports/suppression-store.ts';
import {
  placeText,
  type SuppressedAddress,
  type SuppressedChannel,
  type SuppressionPlace,
} from '../../domain/suppressions/suppression.ts';
import { BloomFilter } from '../../runtime/bloom-filter.ts';

/** A filter is loaded after this many look-ups, so that an account which sends little loads none. */
const LOOK_UPS_BEFORE = 20;
/** Rows that are read at once. More would keep other requests waiting. */
const ROWS_AT_ONCE = 2_000;
/** Room for suppressions that come after the filter was loaded. */
const ROOM = 1.5;
const CAPACITY_LEAST = 1_000;
/** Most suppressions of an account that has a filter. */
const MAX_SUPPRESSIONS = 2_000_000;
/** Most memory of all filters, in bytes. The least recently used are forgotten first. */
const MAX_BYTES = 32 * 1024 * 1024;

interface Known {
  /** Look-ups since the filter was forgotten. */
  lookUps: number;
  /** Undefined until it is loaded. */
  filter: BloomFilter | undefined;
  /** What was added while the filter is loading. Undefined if it is not. */
  added: string[] | undefined;
}

/**
 * Suppressions of a send (R378). This process keeps a filter of each account's suppressed addresses, and asks the
 * database only about addresses that the filter may have: about one in a hundred of those that are not suppressed.
 * Without it, each send of an account that has suppressions waited for a statement of its own.
 *
 * An added suppression is announced with its place, and comes into the filter. Any other change drops the filter. While
 * announcements may be lost, the database is asked about everything.
 */
export class SuppressionFilter implements Pick<SuppressionStore, 'among'> {
  readonly #store: Pick<SuppressionStore, 'among' | 'places'>;
  readonly #changes: Pick<Changes, 'isListening'>;
  /** By account, the least recently used first. */
  readonly #accounts = new Map<string, Known>();
  #bytes = 0;

  constructor(
    store: Pick<SuppressionStore, 'among' | 'places'>,
    changes: Pick<Changes, 'isListening' | 'subscribe'>,
  ) {
    this.#store = store;
    this.#changes = changes;
    changes.subscribe('suppressions', (accountId, place) => {
      if (accountId === undefined) for (const each of this.#accounts.keys()) this.#forget(each);
      else if (place === undefined) this.#forget(accountId);
      else this.#add(accountId, place);
    });
  }

  async among(
    owner: AccountEnvironment,
    channel: SuppressedChannel,
    addresses: readonly string[],
  ): Promise<readonly SuppressedAddress[]> {
    const { environment } = owner;
    const filter = this.#filterOf(owner.accountId);
    const doubtful = filter
      ? addresses.filter((address) => filter.mayHave(placeText({ environment, channel, address })))
      : addresses;
    return doubtful.length === 0 ? [] : this.#store.among(owner, channel, doubtful);
  }

  #filterOf(accountId: string): BloomFilter | undefined {
    if (!this.#changes.isListening) return undefined;
    const known: Known = this.#accounts.get(accountId) ?? { lookUps: 0, filter: undefined, added: undefined };
    this.#accounts.delete(accountId);
    this.#accounts.set(accountId, known);
    if (known.filter) return known.filter;
    known.lookUps += 1;
    // Nobody waits for the filter. If it cannot be loaded, the sends that ask the database say so.
    if (known.lookUps === LOOK_UPS_BEFORE) void this.#load(accountId, known).catch(() => undefined);
    return undefined;
  }

  async #load(accountId: string, known: Known): Promise<void> {
    const added: string[] = [];
    known.added = added;
    try {
      const places: string[] = [];
      for (let after: SuppressionPlace | undefined, rows = ROWS_AT_ONCE; rows === ROWS_AT_ONCE; ) {
        const page = await this.#store.places(accountId, after, ROWS_AT_ONCE);
        for (const place of page) places.push(placeText(place));
        rows = page.length;
        after = page.at(-1);
        // It was forgotten meanwhile, or it is too large to be kept.
        if (this.#accounts.get(accountId) !== known || places.length > MAX_SUPPRESSIONS) return;
      }
      const filter = new BloomFilter(Math.max(CAPACITY_LEAST, places.length * ROOM));
      for (const place of places) filter.add(place);
      for (const place of added) filter.add(place);
      known.filter = filter;
      this.#bytes += filter.bytes;
      for (const [oldest] of this.#accounts) {
        if (this.#bytes <= MAX_BYTES) break;
        if (oldest !== accountId) this.#forget(oldest);
      }
    } finally {
      known.added = undefined;
    }
  }

  #add(accountId: string, place: string): void {
    const known = this.#accounts.get(accountId);
    known?.added?.push(place);
    known?.filter?.add(place);
    // Loads it anew with more room.
    if (known?.filter && known.filter.count > known.filter.capacity) this.#forget(accountId);
  }

  #forget(accountId: string): void {
    this.#bytes -= this.#accounts.get(accountId)?.filter?.bytes ?? 0;
    this.#accounts.delete(accountId);
  }
}
