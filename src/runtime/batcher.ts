/**
 * Group commit for any work: items that arrive while a batch is under way form the next one. One batch is under
 * way at a time, and an item that comes alone is worked on alone, at once.
 */
export interface BatcherOptions<Item> {
  /** How much of `maxWeight` an item takes; 1 when absent. */
  readonly weight?: (item: Item) => number;
  /** A batch's weight at the most; a single heavier item goes alone. */
  readonly maxWeight: number;
  /**
   * Of more items than this a batch takes half of all that are about, those of the last one among them: so one half is
   * answered and comes back while the other is under way. Without it all would go together, and each side wait for the
   * other. Never when absent.
   */
  readonly halvedAbove?: number;
  /**
   * Least time between the beginnings of two batches, in ms, for work that nobody waits for: what comes closely behind
   * each other is put together. 0 when absent.
   */
  readonly pauseMs?: number;
  /** Whether items should be tried again one by one after a batch failed with `error`, so that a poisonous one fails alone. */
  readonly isolate?: (error: unknown) => boolean;
}

/**
 * Takes more of what waits into the batch under way: all that belongs to it, in the order of arrival, while there is
 * room. For work that had to wait before it could begin.
 */
export type TakeMore<Item> = (belongs: (item: Item) => boolean) => readonly Item[];

type Work<Item, Result> = (items: readonly Item[], takeMore: TakeMore<Item>) => Promise<readonly Result[]>;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Item, Result> {
  readonly #work: Work<Item, Result>;
  readonly #weight: (item: Item) => number;
  readonly #options: BatcherOptions<Item>;
  #waiting: Waiting<Item, Result>[] = [];
  #waitingWeight = 0;
  #running: Promise<void> | undefined;
  /** How many items the last batch had. */
  #lastCount = 0;
  /** When it began (performance.now, ms). */
  #lastAt = Number.NEGATIVE_INFINITY;

  /** `work` answers with one result an item, in the same order, and then one for each that it took besides. */
  constructor(work: Work<Item, Result>, options: BatcherOptions<Item>) {
    this.#work = work;
    this.#options = options;
    this.#weight = options.weight ?? (() => 1);
  }

  /** Weight of the items that no batch has taken yet. */
  get waitingWeight(): number {
    return this.#waitingWeight;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#waitingWeight += this.#weight(item);
      this.#running ??= this.#run();
    });
  }

  /** Resolves once nothing waits or is under way. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    // What the event loop has already read joins the first batch.
    await turn();
    let answer: (() => void) | undefined;
    while (this.#waiting.length > 0) {
      const pauseMs = this.#pauseLeftMs;
      if (pauseMs > 0) {
        answer?.();
        answer = undefined;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      const settled = this.#settle(this.#take());
      if (answer) {
        // Whoever is answered has more to do than what a batch needs to begin: that is on its way before.
        await turn();
        answer();
      }
      answer = await settled;
    }
    answer?.();
    this.#running = undefined;
  }

  /** How long it is until the next batch may begin, in ms. */
  get #pauseLeftMs(): number {
    const { pauseMs } = this.#options;
    return pauseMs === undefined ? 0 : this.#lastAt + pauseMs - performance.now();
  }

  /** What the next batch begins with. */
  #take(): Waiting<Item, Result>[] {
    this.#lastAt = performance.now();
    const half = Math.ceil((this.#waiting.length + this.#lastCount) / 2);
    const batch: Waiting<Item, Result>[] = [];
    this.#fill(batch, Math.max(this.#options.halvedAbove ?? Number.POSITIVE_INFINITY, half), () => true);
    return batch;
  }

  /** Moves what waits and belongs to a batch into it while there is room, up to `most` items. */
  #fill(batch: Waiting<Item, Result>[], most: number, belongs: (item: Item) => boolean): void {
    const before = batch.reduce((sum, { item }) => sum + this.#weight(item), 0);
    const left: Waiting<Item, Result>[] = [];
    let weight = before;
    let index = 0;
    for (const waiting of this.#waiting) {
      if (belongs(waiting.item)) {
        const next = weight + this.#weight(waiting.item);
        if (batch.length === most || (batch.length > 0 && next > this.#options.maxWeight)) break;
        weight = next;
        batch.push(waiting);
      } else {
        left.push(waiting);
      }
      index += 1;
    }
    this.#waiting = left.concat(this.#waiting.slice(index));
    this.#waitingWeight -= weight - before;
    this.#lastCount = batch.length;
  }

  /** Works on the batch; what it gives answers those who wait. */
  async #settle(batch: Waiting<Item, Result>[]): Promise<() => void> {
    const takeMore: TakeMore<Item> = (belongs) => {
      const begun = batch.length;
      this.#fill(batch, Number.POSITIVE_INFINITY, belongs);
      return batch.slice(begun).map(({ item }) => item);
    };
    try {
      const results = await this.#work(
        batch.map(({ item }) => item),
        takeMore,
      );
      return () =>
        batch.forEach(({ resolve, reject }, index) => {
          if (index < results.length) resolve(results[index] as Result);
          else reject(new Error('the batch has no result for this item'));
        });
    } catch (error) {
      if (batch.length === 1 || !this.#options.isolate?.(error)) {
        return () => {
          for (const { reject } of batch) reject(error);
        };
      }
      for (const waiting of batch) (await this.#settle([waiting]))();
      return () => undefined;
    }
  }
}

/** Resolves when the event loop has been through what it has read. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
