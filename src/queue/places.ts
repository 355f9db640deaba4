import type { WorkOptions } from '../domain/ports/job-queue.ts';

/** Jobs held at the most, as a multiple of `concurrency`, where slow ones do not count. */
const MAX_HELD_FACTOR = 8;

/** A place for one job among those that a worker holds. */
export interface Place {
  /** From now on the job does not count against the concurrency. */
  uncount(): void;
  /** Gives the place to others. */
  free(): void;
}

/** The places of a worker, over all groups and in each. */
export class Places {
  readonly #options: WorkOptions;
  readonly #onRoom: () => void;
  /** Also by jobs that are not committed yet. */
  #taken = 0;
  readonly #inGroup = new Map<string, number>();
  /** Those that count against the concurrency. */
  #counted = 0;

  /** `onRoom` is called when there is room, over all groups or in one, where there was none. */
  constructor(options: WorkOptions, onRoom: () => void) {
    this.#options = options;
    this.#onRoom = onRoom;
  }

  /** Places that are left over all groups. */
  get room(): number {
    const { concurrency, countedMs } = this.#options;
    const most = countedMs === undefined ? concurrency : concurrency * MAX_HELD_FACTOR;
    return Math.min(concurrency - this.#counted, most - this.#taken);
  }

  hasRoomFor(group: string): boolean {
    return this.room > 0 && (this.#inGroup.get(group) ?? 0) < this.#perGroup;
  }

  /** Groups that hold their share. */
  fullGroups(): string[] {
    return [...this.#inGroup].filter(([, count]) => count >= this.#perGroup).map(([group]) => group);
  }

  /** Takes a place, whether there is room or not. */
  take(group: string): Place {
    this.#inGroup.set(group, (this.#inGroup.get(group) ?? 0) + 1);
    this.#counted += 1;
    this.#taken += 1;
    let isCounted = true;
    const uncount = () => {
      if (!isCounted) return;
      isCounted = false;
      const wasFull = this.room <= 0;
      this.#counted -= 1;
      if (wasFull) this.#onRoom();
    };
    const free = () => {
      const count = this.#inGroup.get(group) ?? 1;
      const wasFull = count >= this.#perGroup || this.room <= 0;
      if (count > 1) this.#inGroup.set(group, count - 1);
      else this.#inGroup.delete(group);
      this.#taken -= 1;
      uncount();
      if (wasFull) this.#onRoom();
    };
    return { uncount, free };
  }

  get #perGroup(): number {
    return this.#options.perGroup ?? Number.POSITIVE_INFINITY;
  }
}
