import type { WorkOptions } from '../domain/ports/job-queue.ts';

/**
 * A worker holds at most this many times its concurrency, in total and for each route. This includes jobs that released
 * their slot while they wait.
 */
const MAX_HELD_FACTOR = 8;

/** The slot of one job that a worker holds. */
export interface JobSlot {
  /** Stops counting the job against `concurrency`, so that another job can start. */
  uncount(): void;
  /** Also stops counting the job against `perRoute`, so that another job of the same route can start. */
  releaseSlotWhileWaiting(): void;
  /** Ends the slot when the job has ended. */
  free(): void;
}

/** The jobs of a route: `taken` are held. Of these, `counted` count against `perRoute`. */
interface Share {
  taken: number;
  counted: number;
}

/** The slots of a worker, in total and for each route. */
export class JobSlots {
  readonly #options: WorkOptions;
  readonly #onRoom: () => void;
  /** Number of held jobs. It includes jobs whose transaction has not committed yet. */
  #taken = 0;
  readonly #shares = new Map<string, Share>();
  /** Number of held jobs that count against `concurrency`. */
  #counted = 0;

  /** `onRoom` is called when a slot becomes free and no slot was free before, in total or for a route. */
  constructor(options: WorkOptions, onRoom: () => void) {
    this.#options = options;
    this.#onRoom = onRoom;
  }

  /** Number of free slots. */
  get room(): number {
    const { concurrency } = this.#options;
    return Math.min(concurrency - this.#counted, concurrency * MAX_HELD_FACTOR - this.#taken);
  }

  hasRoomFor(routeKey: string): boolean {
    return this.room > 0 && !this.#isFull(this.#shares.get(routeKey));
  }

  /** Returns the routes that have no free slot. */
  fullRoutes(): string[] {
    return [...this.#shares].filter(([, share]) => this.#isFull(share)).map(([routeKey]) => routeKey);
  }

  /** Takes a slot. It does so even if none is free. */
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

  /** Changes the counts. Then calls `onRoom` if a slot is free now and none was before. */
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
