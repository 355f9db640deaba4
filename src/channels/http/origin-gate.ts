/** Bounds the requests under way to one origin; the rest wait here, where they can still leave the queue. */

interface Places {
  taken: number;
  /** In order of arrival; each is called with its place already taken. */
  readonly waiting: Set<() => void>;
}

/**
 * `limit` places for each origin, first come first served. undici's own queue keeps requests whose time is over
 * and opens sockets for them; this one lets go of them.
 */
export class OriginGate {
  readonly #limit: number;
  readonly #origins = new Map<string, Places>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Takes a place: true at once, or a promise of true when one is handed over, of false once `deadline`
   * (performance.now, ms) has passed. After true, `leave` must follow.
   */
  enter(origin: string, deadline: number): true | Promise<boolean> {
    let places = this.#origins.get(origin);
    if (places === undefined) {
      places = { taken: 0, waiting: new Set() };
      this.#origins.set(origin, places);
    }
    if (places.taken < this.#limit) {
      places.taken += 1;
      return true;
    }
    const { waiting } = places;
    return new Promise((resolve) => {
      const admitted = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(
        () => {
          waiting.delete(admitted);
          resolve(false);
        },
        Math.max(1, Math.ceil(deadline - performance.now())),
      );
      waiting.add(admitted);
    });
  }

  /** Gives a place back, or on to the one who has waited longest. */
  leave(origin: string): void {
    const places = this.#origins.get(origin);
    if (places === undefined) return;
    const [next] = places.waiting;
    if (next !== undefined) {
      places.waiting.delete(next);
      next();
      return;
    }
    places.taken -= 1;
    if (places.taken === 0) this.#origins.delete(origin);
  }
}
