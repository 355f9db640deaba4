import type { Dependencies } from '../dependencies.ts';
import { PREFIX_LENGTH } from '../messages/country.ts';
import type { PreparedMessage } from '../messages/message.ts';
import { askFrom, blockOf, boundOf, mayHaveToAsk, SeenNumbers, WINDOW_MS } from './pumping.ts';

/** The bound of a prefix may be this old, in ms. */
const BOUND_AGE_MS = 60_000;
/** Number of bounds in memory. Above it, all are read again. */
const MAX_BOUNDS = 10_000;
/** Numbers that were written to in this time, in days, are not new (R392). */
const KNOWN_DAYS = 28;
const DAY_MS = 24 * 3_600_000;

interface CachedBound {
  readonly at: number;
  readonly busiestDay: Promise<number>;
}

/**
 * Finds SMS that look like pumping (R392). It counts in the memory of this process first, and asks the database only
 * about blocks with several numbers. So ordinary sends run no statement.
 */
export class PumpingWatch {
  readonly #deps: Pick<Dependencies, 'stores' | 'uow' | 'clock'>;
  readonly #seen = new SeenNumbers();
  readonly #bounds = new Map<string, CachedBound>();

  constructor(deps: Pick<Dependencies, 'stores' | 'uow' | 'clock'>) {
    this.#deps = deps;
  }

  /** Returns the block because of which the message must be held. Undefined if it may leave. */
  async blockToHold(prepared: PreparedMessage): Promise<string | undefined> {
    const { accountId, channel, environment, recipients } = prepared;
    if (channel !== 'sms' || environment !== 'production') return undefined;
    const now = this.#deps.clock.now();
    const suspects = recipients
      .map(({ address }) => ({ address, count: this.#seen.add(accountId, address, now.getTime()) }))
      .filter(({ count }) => mayHaveToAsk(count));
    if (suspects.length === 0) return undefined;
    const asked = new Map<string, { readonly addresses: string[]; readonly bound: number }>();
    for (const { address, count } of suspects) {
      const bound = boundOf(address, await this.#busiestDay(accountId, address, now));
      if (count < askFrom(bound)) continue;
      const block = blockOf(address);
      const entry = asked.get(block) ?? { addresses: [], bound };
      asked.set(block, entry);
      entry.addresses.push(address);
    }
    for (const [block, { addresses, bound }] of asked) {
      if (await this.#isAbove(accountId, block, addresses, bound, now)) return block;
    }
    return undefined;
  }

  /** Counts the new numbers of a block over all processes. True if one of `addresses` is above the bound. */
  async #isAbove(
    accountId: string,
    block: string,
    addresses: readonly string[],
    bound: number,
    now: Date,
  ): Promise<boolean> {
    const added = [...new Set([...this.#seen.local(accountId, block), ...addresses])];
    const until = new Date(now.getTime() - WINDOW_MS);
    const since = new Date(now.getTime() - KNOWN_DAYS * DAY_MS);
    const { count, isTrusted, known } = await this.#deps.uow.run((tx) =>
      tx.held.countNumbers({ accountId, block, added, since, until }),
    );
    this.#seen.mark(accountId, added, 'stored');
    this.#seen.mark(accountId, known, 'known');
    return !isTrusted && count > bound && addresses.some((address) => !known.has(address));
  }

  #busiestDay(accountId: string, address: string, now: Date): Promise<number> {
    const prefix = address.slice(0, PREFIX_LENGTH);
    const key = `${accountId} ${prefix}`;
    const cached = this.#bounds.get(key);
    if (cached && now.getTime() - cached.at < BOUND_AGE_MS) return cached.busiestDay;
    if (this.#bounds.size >= MAX_BOUNDS) this.#bounds.clear();
    const since = new Date(now.getTime() - KNOWN_DAYS * DAY_MS);
    const busiestDay = this.#deps.stores.held.busiestDay(accountId, prefix, since);
    this.#bounds.set(key, { at: now.getTime(), busiestDay });
    // A failed read must not be kept: the next send reads again.
    busiestDay.catch(() => this.#bounds.delete(key));
    return busiestDay;
  }
}
