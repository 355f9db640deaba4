/**
 * What processes tell each other so that no one goes on with what it has cached. A change is announced inside the
 * transaction that makes it: this process hears of it at the commit, the others moments later.
 */
export type ChangeKind = 'api-key' | 'account' | 'prices' | 'session';

/** Announced in place of an id when any object of a kind may have changed. */
export const ALL_IDS = '*';

export interface Changes {
  /** False while announcements may be missed; a cache must then not trust itself for longer than a second. */
  readonly isListening: boolean;
  /** Calls back with the changed object's id, or with undefined when any of the kind may have changed. */
  subscribe(kind: ChangeKind, onChange: (id: string | undefined) => void): void;
}
