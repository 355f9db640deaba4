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
/** Most accounts whose look-ups are counted. The least recently used are forgotten first. */
const MAX_ACCOUNTS = 10_000;

interface Known {
  /** Look-ups since the filter was forgotten. */
  lookUps: number;
  /** Undefined until it is loaded. */
  filter: BloomFilter | undefined;
  /** The filter that is loading. Undefined if none is. */
  loading: BloomFilter | undefined;
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
  readonly #store: Pick<SuppressionStore, 'among' | 'countUpTo' | 'places'>;
  readonly #changes: Pick<Changes, 'isListening'>;
  /** By account, the least recently used first. */
  readonly #accounts = new Map<string, Known>();
  #bytes = 0;

  constructor(
    store: Pick<SuppressionStore, 'among' | 'countUpTo' | 'places'>,
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
    const known: Known = this.#accounts.get(accountId) ?? {
      lookUps: 0,
      filter: undefined,
      loading: undefined,
    };
    this.#accounts.delete(accountId);
    this.#accounts.set(accountId, known);
    const [oldest] = this.#accounts.keys();
    if (this.#accounts.size > MAX_ACCOUNTS && oldest !== undefined) this.#forget(oldest);
    if (known.filter) return known.filter;
    known.lookUps += 1;
    if (known.lookUps === LOOK_UPS_BEFORE) {
      // Nobody waits for the filter. If it cannot be loaded, the sends that ask the database say so, and it is tried
      // again after as many look-ups.
      this.#load(accountId, known).catch(() => {
        known.lookUps = 0;
      });
    }
    return undefined;
  }

  async #load(accountId: string, known: Known): Promise<void> {
    // Counts first, so that the filter has its size and takes each row as it is read: the texts of 2 million rows would
    // take far more memory than the filter. What is announced before the first page is read is in the pages.
    const rows = await this.#store.countUpTo(accountId, MAX_SUPPRESSIONS + 1);
    if (rows > MAX_SUPPRESSIONS) return;
    const filter = new BloomFilter(Math.max(CAPACITY_LEAST, rows * ROOM));
    known.loading = filter;
    try {
      for (let after: SuppressionPlace | undefined, read = ROWS_AT_ONCE; read === ROWS_AT_ONCE; ) {
        const page = await this.#store.places(accountId, after, ROWS_AT_ONCE);
        // Forgotten meanwhile.
        if (this.#accounts.get(accountId) !== known) return;
        for (const place of page) filter.add(placeText(place));
        read = page.length;
        after = page.at(-1);
      }
      known.filter = filter;
      this.#bytes += filter.bytes;
      for (const [oldest] of this.#accounts) {
        if (this.#bytes <= MAX_BYTES) break;
        if (oldest !== accountId) this.#forget(oldest);
      }
    } finally {
      known.loading = undefined;
    }
  }

  #add(accountId: string, place: string): void {
    const known = this.#accounts.get(accountId);
    known?.loading?.add(place);
    known?.filter?.add(place);
    // Loads it anew with more room.
    if (known?.filter && known.filter.count > known.filter.capacity) this.#forget(accountId);
  }

  #forget(accountId: string): void {
    this.#bytes -= this.#accounts.get(accountId)?.filter?.bytes ?? 0;
    this.#accounts.delete(accountId);
  }
}
