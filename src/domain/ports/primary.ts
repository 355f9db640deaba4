/** Watches the primary of the database: the server that takes writes. */
export interface PrimaryWatch {
  /** True while no primary can be reached: the connection that is always open was lost, and no new one can be made. */
  readonly isAway: boolean;
  /**
   * Runs `work`, which needs the primary. Resolves with undefined when the primary is away, also while `work` still
   * waits for an answer.
   */
  unlessAway<T>(work: () => Promise<T>): Promise<{ readonly result: T } | undefined>;
}
