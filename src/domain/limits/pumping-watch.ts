import type { Dependencies } from '../dependencies.ts';
import { PREFIX_LENGTH } from '../messages/country.ts';
import type { PreparedMessage } from '../messages/message.ts';
import type { AddedNumbers } from '../ports/held-store.ts';
import {
  askFrom,
  blockOf,
  boundOf,
  campaignBoundOf,
  mayHaveToAsk,
  SeenNumbers,
  WINDOW_MS,
} from './pumping.ts';

/** The bound of a prefix may be this old, in ms. */
const BOUND_AGE_MS = 60_000;
/** Number of bounds in memory. Above it, all are read again. */
const MAX_BOUNDS = 10_000;
const DAY_MS = 24 * 3_600_000;
/** The busiest day is sought in this time (R392). */
const VOLUME_MS = 28 * DAY_MS;
/** Numbers that were written to in this time are not new. So a campaign of once a month knows its numbers (R392). */
const KNOWN_MS = 62 * DAY_MS;

interface CachedDay {
  readonly at: number;
  readonly busiestDay: number;
}

interface AskedBlock {
  readonly addresses: readonly string[];
  readonly bound: number;
}

/** What the watch says about a message. */
export interface Watched {
  /** The block because of which the message must be held. Undefined if it may leave. */
  readonly block: string | undefined;
  /**
   * Takes the counts of the message back. Call it if the message is refused. It never throws, so that the sender learns
   * why the message was refused. Do not wait for it if the database may not answer. Counts that stay are forgotten after
   * an hour.
   */
  takeBack(): Promise<void>;
}

/**
 * Finds SMS that look like pumping (R392). It counts in the memory of this process first, and asks the database only
 * about blocks with several numbers. So ordinary sends run no statement, and others one transaction.
 */
export class PumpingWatch {
  readonly #deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'logger'>;
  readonly #seen = new SeenNumbers();
  readonly #busiestDays = new Map<string, CachedDay>();

  constructor(deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'logger'>) {
    this.#deps = deps;
  }

  /** Counts the numbers of a message before it is accepted, and says whether it must be held. */
  async watch(prepared: PreparedMessage): Promise<Watched> {
    const { id, accountId, channel, environment, recipients } = prepared;
    if (channel !== 'sms' || environment !== 'production')
      return { block: undefined, takeBack: () => Promise.resolve() };
    const now = this.#deps.clock.now();
    const addresses = recipients.map(({ address }) => address);
    // The numbers in the blocks that may have to be asked about: of most messages none.
    let counts: Map<string, number> | undefined;
    for (const address of addresses) {
      const count = this.#seen.add(accountId, address, now.getTime(), id);
      if (!mayHaveToAsk(count)) continue;
      counts ??= new Map();
      counts.set(blockOf(address), count);
    }
    let added: AddedNumbers | undefined;
    const takeBack = async () => {
      this.#seen.takeBack(accountId, addresses, id);
      if (!added) return;
      try {
        await this.#deps.stores.held.takeBack(added);
      } catch (error) {
        this.#deps.logger.warn(
          { accountId, err: error },
          'numbers of a refused SMS stay counted by the pumping watch for an hour',
        );
      }
    };
    if (!counts) return { block: undefined, takeBack };
    try {
      const asked = await this.#blocksToAsk(accountId, addresses, counts, now);
      if (asked.size === 0) return { block: undefined, takeBack };
      const counted = await this.#count(accountId, asked, now);
      added = counted.added;
      const isAbove = ([block, { addresses }]: readonly [string, AskedBlock]) =>
        counted.above.has(block) && addresses.some((each) => !counted.known.has(each));
      return { block: [...asked].find(isAbove)?.[0], takeBack };
    } catch (error) {
      // The message is not accepted then.
      this.#seen.takeBack(accountId, addresses, id);
      throw error;
    }
  }

  /** Returns the blocks that may be above their bounds, each with its numbers of the message. */
  async #blocksToAsk(
    accountId: string,
    addresses: readonly string[],
    counts: ReadonlyMap<string, number>,
    now: Date,
  ): Promise<ReadonlyMap<string, AskedBlock>> {
    const suspects = addresses.filter((address) => counts.has(blockOf(address)));
    const busiestDays = await this.#readBusiestDays(accountId, suspects.map(prefixOf), now);
    const asked = new Map<string, AskedBlock>();
    for (const [block, own] of Map.groupBy(suspects, blockOf)) {
      const [address = ''] = own;
      const bound = boundOf(address, busiestDays.get(prefixOf(address)) ?? 0);
      const campaignBound = campaignBoundOf(address, this.#seen.spread(accountId, address, now.getTime()));
      if ((counts.get(block) ?? 0) < askFrom(bound, campaignBound)) continue;
      asked.set(block, { addresses: own, bound: Math.max(bound, campaignBound) });
    }
    return asked;
  }

  /** Counts the new numbers of the blocks over all processes, in one transaction. */
  async #count(accountId: string, asked: ReadonlyMap<string, AskedBlock>, now: Date) {
    const bounds = new Map([...asked].map(([block, { bound }]) => [block, bound]));
    const added = [...new Set([...asked.values()].flatMap(({ addresses }) => addresses))];
    const own = new Set(added);
    const local = this.#seen.local(accountId, bounds.keys()).filter((address) => !own.has(address));
    const until = new Date(now.getTime() - WINDOW_MS);
    const since = new Date(now.getTime() - KNOWN_MS);
    const counted = await this.#deps.uow.run((tx) =>
      tx.held.countNumbers({ accountId, bounds, added, local, since, until }),
    );
    this.#seen.mark(accountId, [...added, ...counted.stored], 'stored');
    this.#seen.mark(accountId, counted.known, 'known');
    return counted;
  }

  async #readBusiestDays(
    accountId: string,
    prefixes: readonly string[],
    now: Date,
  ): Promise<ReadonlyMap<string, number>> {
    const keyOf = (prefix: string) => `${accountId} ${prefix}`;
    const days = new Map<string, number>();
    const missing: string[] = [];
    for (const prefix of new Set(prefixes)) {
      const cached = this.#busiestDays.get(keyOf(prefix));
      if (cached && now.getTime() - cached.at < BOUND_AGE_MS) days.set(prefix, cached.busiestDay);
      else missing.push(prefix);
    }
    if (missing.length === 0) return days;
    const since = new Date(now.getTime() - VOLUME_MS);
    const read = await this.#deps.stores.held.busiestDays(accountId, missing, since);
    if (this.#busiestDays.size + missing.length > MAX_BOUNDS) this.#busiestDays.clear();
    for (const prefix of missing) {
      const busiestDay = read.get(prefix) ?? 0;
      this.#busiestDays.set(keyOf(prefix), { at: now.getTime(), busiestDay });
      days.set(prefix, busiestDay);
    }
    return days;
  }
}

const prefixOf = (address: string): string => address.slice(0, PREFIX_LENGTH);
