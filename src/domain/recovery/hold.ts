/**
 * **Copy**: one database with all the data. Only one copy may send. A copy from a backup or a dump would repeat what
 * the original has sent since. **Place**: the PostgreSQL system and database of a copy. **Held**: the copy serves
 * reads and sends nothing until an operator **releases** it.
 */

/** `asked`: RECOVERY=hold is set. `restored`: from a backup. `copied`: in another place than before. */
export const HOLD_REASONS = ['asked', 'restored', 'copied'] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

export interface Hold {
  readonly reason: HoldReason;
  readonly at: Date;
  /** The last sign of life of a process on the data before. Later changes of the original are unknown here. */
  readonly dataUntil: Date | null;
}

export interface Place {
  /** PostgreSQL's id of a cluster and its standbys; null if unknown. */
  readonly systemIdentifier: string | null;
  readonly databaseOid: number | null;
  /** The restore that the server's files come from; null without one. */
  readonly restoredAs: string | null;
}

const WORDS: Readonly<Record<HoldReason, string>> = {
  asked: 'RECOVERY=hold was set',
  restored: 'it was restored from a backup',
  copied: 'it is a copy of the database that was used before',
};

/** Why a copy that was last used at `known` and is now at `found` must be held; undefined if it need not. */
export function reasonToHold(known: Place, found: Place, isAsked: boolean): HoldReason | undefined {
  if (isAsked) return 'asked';
  if (found.restoredAs !== null && found.restoredAs !== known.restoredAs) return 'restored';
  const isElsewhere =
    differ(known.systemIdentifier, found.systemIdentifier) || differ(known.databaseOid, found.databaseOid);
  return isElsewhere ? 'copied' : undefined;
}

/** False if either value is unknown. */
function differ<T>(known: T | null, found: T | null): boolean {
  return known !== null && found !== null && known !== found;
}

/** A hold in a sentence for operators. */
export function describeHold({ reason, at }: Hold): string {
  return `Nothing is sent since ${at.toISOString()}: ${WORDS[reason]}. An operator ends it with: npm run cli -- release.`;
}
