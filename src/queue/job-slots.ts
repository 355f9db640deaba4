import type { WorkOptions } from '../domain/ports/job-queue.ts';

/** Jobs held at the most, over all routes and in one, as multiples of what may count. */
const MAX_HELD_FACTOR = 8;

/** A slot for one job among those that a worker holds. */
export interface JobSlot {
  /** From now on the job does not count against the concurrency. */
  uncount(): void;
  /** Nor against its route's share, which others of the route need. */
  releaseSlotWhileWaiting(): void;
  /** Gives the slot to others. */
  free(): void;
}

/** How many jobs of a route are held, and how many of them count. */
interface Share {
  taken: number;
  counted: number;
}

/** The slots of a worker, over all routes and in each. */
export class JobSlots {
  readonly #options: WorkOptions;
  readonly #onRoom: () => void;
  /** Also by jobs that are not committed yet. */
  #taken = 0;
  readonly #shares = new Map<string, Share>();
  /** Those that count against the concurrency. */
  #counted = 0;

  /** `onRoom` is called when there is room, over all routes or in one, where there was none. */
  constructor(options: WorkOptions, onRoom: () => void) {
    this.#options = options;
    this.#onRoom = onRoom;
  }

  /** JobSlots that are left over all routes. */
  get room(): number {
    const { concurrency } = this.#options;
    return Math.min(concurrency - this.#counted, concurrency * MAX_HELD_FACTOR - this.#taken);
  }

  hasRoomFor(routeKey: string): boolean {
    return this.room > 0 && !this.#isFull(this.#shares.get(routeKey));
  }

  /** Groups that hold their share. */
  fullRoutes(): string[] {
    return [...this.#shares].filter(([, share]) => this.#isFull(share)).map(([routeKey]) => routeKey);
  }

  /** Takes a slot, whether there is room or not. */
  take(routeKey: string): JobSlot {
    const share = this.#shares.get(routeKey) ?? { taken: 0, counted: 0 };
    this.#shares.set(routeKey, share);
    share.taken += 1;
    share.counted += 1;
    this.#counted += 1;
    this.#taken += 1;
    const uncount = once(() => this.#change(share, () => (this.#counted -= 1)));
    const leaveShare = once(() => this.#change(share, () => (share.counted -= 1)));
    const releaseSlotWhileWaiting = () => {
      uncount();
      leaveShare();
    };
    const free = () => {
      releaseSlotWhileWaiting();
      this.#change(share, () => {
        share.taken -= 1;
        this.#taken -= 1;
      });
      if (share.taken === 0) this.#shares.delete(routeKey);
    };
    return { uncount, releaseSlotWhileWaiting, free };
  }

  /** Makes room, and tells of it where there was none. */
  #change(share: Share, change: () => void): void {
    const wasFull = this.room <= 0 || this.#isFull(share);
    change();
    if (wasFull) this.#onRoom();
  }

  #isFull(share: Share | undefined): boolean {
    const { perRoute = Number.POSITIVE_INFINITY } = this.#options;
    if (share === undefined) return perRoute <= 0;
    return share.counted >= perRoute || share.taken >= perRoute * MAX_HELD_FACTOR;
  }
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) work();
    isDone = true;
  };
}
