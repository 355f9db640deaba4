import type { ChangeKind } from './changes.ts';

/** Values by id, loaded when they are asked for and dropped when a change of their kind is announced. */
export interface Cache<Value> {
  /** The value that is known, or else the loaded one. Rejects as the load does, and then keeps nothing. */
  get(id: string): Promise<Value>;
  /** Loads the value even if one is known. */
  renew(id: string): Promise<Value>;
}

/** Makes caches of objects of one kind. */
export type CreateCache = <Value>(kind: ChangeKind, load: (id: string) => Promise<Value>) => Cache<Value>;
