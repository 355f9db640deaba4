/**
 * Cache invalidation between processes. A transaction that makes a change also announces it. This process gets the
 * announcement at the commit, other processes some moments later.
 */
export type ChangeKind =
  | 'api-key'
  | 'account'
  | 'prices'
  | 'suppressions'
  | 'erasures'
  | 'senders'
  | 'session'
  | 'hold';

/** Announced instead of an id. It means that any object of the kind may have changed. */
export const ALL_IDS = '*';

export interface Changes {
  /** False while announcements may be lost. A cache may then use a value for at most one second. */
  readonly isListening: boolean;
  /**
   * Calls `onChange` with the id of each changed object. The id is undefined if any object of the kind may have
   * changed. `detail` says what exactly has changed, if the change was announced with it.
   */
  subscribe(kind: ChangeKind, onChange: (id: string | undefined, detail?: string) => void): void;
}

/** Values by id. They are loaded on demand and dropped when a change of their kind is announced. */
export interface Cache<Value> {
  /** Returns the cached value, or loads it. If loading fails, rejects with its error and caches nothing. */
  get(id: string): Promise<Value>;
  /** Loads the value even if it is cached, and caches it. */
  renew(id: string): Promise<Value>;
  /**
   * Returns the value that was loaded last, even if changes of it may have been missed since. Undefined if there is
   * none, or if a change of it was announced.
   */
  recall(id: string): Promise<Value> | undefined;
  /** Removes the value from the cache. */
  forget(id: string): void;
}

export type CreateCache = <Value>(kind: ChangeKind, load: (id: string) => Promise<Value>) => Cache<Value>;

/** Live updates between processes. A transaction that makes a change also announces the update. */
export const LIVE_KINDS = ['message', 'delivery', 'usage', 'import', 'audit', 'provider', 'alert'] as const;
/**
 * `usage` announces a change of the balance that no message caused. `provider` announces a report about providers. Its
 * objects are worker processes, of `NO_ACCOUNT`. Alerts of the operators are of `NO_ACCOUNT` too.
 */
export type LiveKind = (typeof LIVE_KINDS)[number];

/** Stands for an account in changes that belong to none. Only operators may watch them. */
export const NO_ACCOUNT = '-';

export interface LiveObject {
  readonly accountId: string;
  /** The id of the object. Undefined if many objects changed. */
  readonly id: string | undefined;
}

export interface LiveChange {
  readonly kind: LiveKind;
  readonly accountId: string;
  /** The ids of the objects. Undefined if many objects changed. */
  readonly ids: readonly string[] | undefined;
}

export interface LiveFeed {
  /**
   * Starts listening. Resolves when no later commit can be missed. Calls `onGap` if updates may have been missed, for
   * example because the connection was lost. Returns a function that stops listening.
   */
  listen(onChange: (change: LiveChange) => void, onGap: () => void): Promise<() => Promise<void>>;
}
