import type { WorkOptions } from '../domain/ports/job-queue.ts';

/** Jobs held at the most, over all groups and in one, as multiples of what may count. */
const MAX_HELD_FACTOR = 8;

/** A place for one job among those that a worker holds. */
export interface Place {
  /** From now on the job does not count against the concurrency. */
  uncount(): void;
  /** Nor against its group's share, which others of the group need. */
  onlyWaits(): void;
  /** Gives the place to others. */
  free(): void;
}

/** How many jobs of a group are held, and how many of them count. */
interface Share {
  taken: number;
  counted: number;
}

/** The places of a worker, over all groups and in each. */
export class Places {
  readonly #options: WorkOptions;
  readonly #onRoom: () => void;
  /** Also by jobs that are not committed yet. */
  #taken = 0;
  readonly #shares = new Map<string, Share>();
  /** Those that count against the concurrency. */
  #counted = 0;

  /** `onRoom` is called when there is room, over all groups or in one, where there was none. */
  constructor(options: WorkOptions, onRoom: () => void) {
    this.#options = options;
    this.#onRoom = onRoom;
  }

  /** Places that are left over all groups. */
  get room(): number {
    const { concurrency } = this.#options;
    return Math.min(concurrency - this.#counted, concurrency * MAX_HELD_FACTOR - this.#taken);
  }

  hasRoomFor(group: string): boolean {
    return this.room > 0 && !this.#isFull(this.#shares.get(group));
  }

  /** Groups that hold their share. */
  fullGroups(): string[] {
    return [...this.#shares].filter(([, share]) => this.#isFull(share)).map(([group]) => group);
  }

  /** Takes a place, whether there is room or not. */
  take(group: string): Place {
    const share = this.#shares.get(group) ?? { taken: 0, counted: 0 };
    this.#shares.set(group, share);
    share.taken += 1;
    share.counted += 1;
    this.#counted += 1;
    this.#taken += 1;
    const uncount = once(() => this.#change(share, () => (this.#counted -= 1)));
    const leaveShare = once(() => this.#change(share, () => (share.counted -= 1)));
    const onlyWaits = () => {
      uncount();
      leaveShare();
    };
    const free = () => {
      onlyWaits();
      this.#change(share, () => {
        share.taken -= 1;
        this.#taken -= 1;
      });
      if (share.taken === 0) this.#shares.delete(group);
    };
    return { uncount, onlyWaits, free };
  }

  /** Makes room, and tells of it where there was none. */
  #change(share: Share, change: () => void): void {
    const wasFull = this.room <= 0 || this.#isFull(share);
    change();
    if (wasFull) this.#onRoom();
  }

  #isFull(share: Share | undefined): boolean {
    const { perGroup = Number.POSITIVE_INFINITY } = this.#options;
    if (share === undefined) return perGroup <= 0;
    return share.counted >= perGroup || share.taken >= perGroup * MAX_HELD_FACTOR;
  }
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
