import type { PrimaryWatch } from '../../domain/ports/primary.ts';

/** Knows whether the primary can be reached, from the connection of the process that is always open. */
export class PgPrimaryWatch implements PrimaryWatch {
  #isAway = false;
  #position: number | undefined;
  /** Give up work that waits for the primary. */
  readonly #giveUps = new Set<() => void>();

  get isAway(): boolean {
    return this.#isAway;
  }

  /** The end of the primary's log on its disk, in bytes, when the primary answered last. */
  get position(): number | undefined {
    return this.#position;
  }

  /** Call it when the primary has answered. */
  answered(position = this.#position): void {
    this.#isAway = false;
    this.#position = position;
  }

  /** Call it when no server could be reached that takes writes. */
  lost(): void {
    this.#isAway = true;
    for (const giveUp of this.#giveUps) giveUp();
  }

  async unlessAway<T>(work: () => Promise<T>): Promise<{ readonly result: T } | undefined> {
    if (this.#isAway) return undefined;
    const given = Promise.withResolvers<undefined>();
    const giveUp = () => given.resolve(undefined);
    // Not one promise for all: each race would stay in its list of reactions until the primary is lost.
    this.#giveUps.add(giveUp);
    try {
      return await Promise.race([work().then((result) => ({ result })), given.promise]);
    } finally {
      this.#giveUps.delete(giveUp);
    }
  }
}
