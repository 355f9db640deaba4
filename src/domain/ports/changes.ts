/**
 * What processes tell each other so that no one goes on with what it has cached. A change is announced inside the
 * transaction that makes it: this process hears of it at the commit, the others moments later.
 */
export type ChangeKind = 'api-key' | 'account' | 'prices' | 'session' | 'hold';

/** Announced in place of an id when any object of a kind may have changed. */
export const ALL_IDS = '*';

export interface Changes {
  /** False while announcements may be missed; a cache must then not trust itself for longer than a second. */
  readonly isListening: boolean;
  /** Calls back with the changed object's id, or with undefined when any of the kind may have changed. */
  subscribe(kind: ChangeKind, onChange: (id: string | undefined) => void): void;
}

/** Values by id, loaded when they are asked for and dropped when a change of their kind is announced. */
export interface Cache<Value> {
  /** The value that is known, or else the loaded one. Rejects as the load does, and then keeps nothing. */
  get(id: string): Promise<Value>;
  /** Loads the value even if one is known. */
  renew(id: string): Promise<Value>;
}

/** Makes caches of objects of one kind. */
export type CreateCache = <Value>(kind: ChangeKind, load: (id: string) => Promise<Value>) => Cache<Value>;

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
