import { WaitLine } from './wait-line.ts';

/** Lets so many submissions onto the wire at once; the others wait at it, where they can still turn back. */
export class Gate {
  readonly #places: number;
  readonly #line = new WaitLine();
  #inside = 0;
  #isClosed = false;
  #whenEmpty: (() => void) | undefined;

  constructor(places: number) {
    this.#places = places;
  }

  /** Submissions inside. */
  get inside(): number {
    return this.#inside;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True once inside; false when `signal` aborts, when those who wait are sent away, and once the gate is closed. */
  async enter(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    while (this.#inside >= this.#places && !this.#isClosed) {
      if (!(await this.#line.wait(signal))) return false;
      if (signal.aborted) {
        // Too late for this one: the place is for the next.
        this.#line.wakeFirst();
        return false;
      }
    }
    if (this.#isClosed) return false;
    this.#inside += 1;
    return true;
  }

  leave(): void {
    this.#inside -= 1;
    if (this.#inside === 0) this.#whenEmpty?.();
    this.#line.wakeFirst();
  }

  /** Sends away those who wait: what they wait for is of no use now. */
  turnBack(): void {
    this.#line.dismissAll();
  }

  /** Lets nobody in any more; resolves when nobody is inside, or after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#line.dismissAll();
    if (this.#inside === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
      timer = setTimeout(resolve, graceMs);
    });
    clearTimeout(timer);
  }
}
