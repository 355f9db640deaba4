/**
 * Cache invalidation between processes. A change is announced in the transaction that makes it. This process is
 * notified at the commit, the others moments later.
 */
export type ChangeKind = 'api-key' | 'account' | 'prices' | 'session' | 'hold';

/** Announced instead of an id when any object of a kind may have changed. */
export const ALL_IDS = '*';

export interface Changes {
  /** False while announcements may be missed. A cache may then use a value for at most one second. */
  readonly isListening: boolean;
  /** Calls back with the id of the changed object, or with undefined when any of the kind may have changed. */
  subscribe(kind: ChangeKind, onChange: (id: string | undefined) => void): void;
}

/** Values by id, loaded on demand and dropped when their kind announces a change. */
export interface Cache<Value> {
  /** The cached value, otherwise the loaded one. Rejects with the error of the load and caches nothing then. */
  get(id: string): Promise<Value>;
  /** Loads the value even if it is cached. */
  renew(id: string): Promise<Value>;
}

export type CreateCache = <Value>(kind: ChangeKind, load: (id: string) => Promise<Value>) => Cache<Value>;

/** Live updates between processes, announced in the transaction of the change. */
export const LIVE_KINDS = ['message', 'delivery', 'usage', 'import', 'audit'] as const;
/** `usage` stands for a change of the balance that no message causes. */
export type LiveKind = (typeof LIVE_KINDS)[number];

export interface LiveObject {
  readonly accountId: string;
  /** Undefined for many objects. */
  readonly id: string | undefined;
}

export interface LiveChange {
  readonly kind: LiveKind;
  readonly accountId: string;
  /** Undefined for many objects. */
  readonly ids: readonly string[] | undefined;
}

export interface LiveFeed {
  /**
   * Resolves when nothing that commits from then on is missed. `onGap` reports that something may have been missed
   * after all. Returns a function that stops listening.
   */
  listen(onChange: (change: LiveChange) => void, onGap: () => void): Promise<() => Promise<void>>;
}
