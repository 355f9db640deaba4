import { outsideReadScopes } from './read-scope.ts';

/**
 * Group commit for any kind of work. Items that arrive while a batch runs form the next batch. Only one batch runs at a
 * time. An item that arrives while nothing runs starts at once.
 */
export interface BatcherOptions<Item> {
  /** Returns the weight of an item, which counts towards `maxWeight`. Default: 1. */
  readonly weight?: (item: Item) => number;
  /** The largest weight of a batch. An item that is heavier than this forms a batch of its own. */
  readonly maxWeight: number;
  /**
   * Above this number of items, a batch takes half of the items that wait or were in the last batch. So the callers of
   * one half are answered while the other half runs. If a batch took all items, the callers would wait for the batch,
   * and then the next batch would wait for the callers. Default: never.
   */
  readonly halvedAbove?: number;
  /**
   * Shortest time in ms between the starts of two batches. Use it if nobody waits for the results: the batches are then
   * larger. Default: 0.
   */
  readonly pauseMs?: number;
  /**
   * Called with the error of a failed batch. If it returns true, the items are run again one by one, so that only the
   * bad item fails.
   */
  readonly isolate?: (error: unknown) => boolean;
}

/**
 * Moves waiting items into the running batch, in order of arrival, until the batch is full. It moves only items for
 * which `belongs` is true. Use it if the work had to wait for something first, such as a lock.
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
  /** Number of items in the last batch. */
  #lastCount = 0;
  /** When the last batch started (performance.now, ms). */
  #lastAt = Number.NEGATIVE_INFINITY;

  /**
   * `work` must return one result for each item, in order. Then it must return one result for each item that `TakeMore`
   * has added.
   */
  constructor(work: Work<Item, Result>, options: BatcherOptions<Item>) {
    this.#work = work;
    this.#options = options;
    this.#weight = options.weight ?? (() => 1);
  }

  /** Weight of the items that are not in a batch yet. */
  get waitingWeight(): number {
    return this.#waitingWeight;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#waitingWeight += this.#weight(item);
      // A batch serves several callers. So the end of one caller's request must not cancel the batch.
      this.#running ??= outsideReadScopes(() => this.#run());
    });
  }

  /** Resolves when no item waits or runs. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    // Wait until the event loop has handled what it has read from sockets, so that these items join the first batch.
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
        // Start the next batch before resolving the callers of the last one, because their code may run long.
        await turn();
        answer();
      }
      answer = await settled;
    }
    answer?.();
    this.#running = undefined;
  }

  /** Time in ms until the next batch may start. */
  get #pauseLeftMs(): number {
    const { pauseMs } = this.#options;
    return pauseMs === undefined ? 0 : this.#lastAt + pauseMs - performance.now();
  }

  /** Returns the items with which the next batch starts. */
  #take(): Waiting<Item, Result>[] {
    this.#lastAt = performance.now();
    const half = Math.ceil((this.#waiting.length + this.#lastCount) / 2);
    const batch: Waiting<Item, Result>[] = [];
    this.#fill(batch, Math.max(this.#options.halvedAbove ?? Number.POSITIVE_INFINITY, half), () => true);
    return batch;
  }

  /**
   * Moves waiting items for which `belongs` is true into a batch, while there is room and the batch has fewer than
   * `most` items.
   */
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
