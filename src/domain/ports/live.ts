/** How processes tell each other, at each commit, what people who watch should see. */
export const LIVE_KINDS = ['message', 'delivery', 'usage'] as const;
/** What changes: a message, a delivery, or an account's balance otherwise than by its messages. */
export type LiveKind = (typeof LIVE_KINDS)[number];

export interface LiveObject {
  readonly accountId: string;
  /** Undefined for many that are not named one by one. */
  readonly id: string | undefined;
}

export interface LiveChange {
  readonly kind: LiveKind;
  readonly accountId: string;
  /** Undefined when they are not named one by one. */
  readonly ids: readonly string[] | undefined;
}

export interface LiveFeed {
  /**
   * Resolves when nothing that commits from then on is missed; `onGap` tells when something may have been missed
   * after all. Returns the way to end it.
   */
  listen(onChange: (change: LiveChange) => void, onGap: () => void): Promise<() => Promise<void>>;
}
