/**
 * Group commit for any work. Items that arrive while a batch runs form the next batch. One batch runs at a time. An
 * item that arrives alone runs alone, at once.
 */
export interface BatcherOptions<Item> {
  /** The share of `maxWeight` that an item takes. Default: 1. */
  readonly weight?: (item: Item) => number;
  /** The most that a batch may weigh. A single heavier item forms a batch of its own. */
  readonly maxWeight: number;
  /**
   * Above this number of items a batch takes half of them, counting the items of the last batch. So one half is
   * answered while the other runs. Without it all go together, and callers and worker wait for each other in turn.
   * Default: never.
   */
  readonly halvedAbove?: number;
  /**
   * The shortest time in ms from the start of one batch to the start of the next. It joins items that nobody waits
   * for. Default: 0.
   */
  readonly pauseMs?: number;
  /** Whether to retry the items one by one after a batch failed with `error`, so that a bad item fails alone. */
  readonly isolate?: (error: unknown) => boolean;
}

/**
 * Moves waiting items that `belongs` accepts into the running batch, in order of arrival, while there is room. For
 * work that had to wait before it could begin.
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
  /** Size of the last batch. */
  #lastCount = 0;
  /** When the last batch began (performance.now, ms). */
  #lastAt = Number.NEGATIVE_INFINITY;

  /** `work` returns one result for each item, in order, then one for each item that it took with `TakeMore`. */
  constructor(work: Work<Item, Result>, options: BatcherOptions<Item>) {
    this.#work = work;
    this.#options = options;
    this.#weight = options.weight ?? (() => 1);
  }

  /** Weight of the items that are in no batch yet. */
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

  /** Resolves when nothing waits or runs. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    // Let the items that the event loop has already read join the first batch.
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
        // Start the next batch before resolving callers: they run long.
        await turn();
        answer();
      }
      answer = await settled;
    }
    answer?.();
    this.#running = undefined;
  }

  /** Time until the next batch may begin, in ms. */
  get #pauseLeftMs(): number {
    const { pauseMs } = this.#options;
    return pauseMs === undefined ? 0 : this.#lastAt + pauseMs - performance.now();
  }

  /** The items that the next batch begins with. */
  #take(): Waiting<Item, Result>[] {
    this.#lastAt = performance.now();
    const half = Math.ceil((this.#waiting.length + this.#lastCount) / 2);
    const batch: Waiting<Item, Result>[] = [];
    this.#fill(batch, Math.max(this.#options.halvedAbove ?? Number.POSITIVE_INFINITY, half), () => true);
    return batch;
  }

  /** Moves waiting items that `belongs` accepts into a batch, while there is room and up to `most` items. */
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

  /** Runs the batch. Returns a function that resolves or rejects its callers. */
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

/** Resolves after the event loop has handled what it has read. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
