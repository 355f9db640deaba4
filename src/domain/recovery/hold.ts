/**
 * **Copy**: one database with all the data. Of a gateway's copies one may send: a copy that was restored from a backup, or
 * made of a dump, would send again what the first one has sent since. **Place**: the PostgreSQL system and the database
 * that a copy is in. **Held**: the copy serves reads and sends nothing, until an operator **releases** it.
 */

/** `asked`: by RECOVERY=hold. `restored`: from a backup. `copied`: found in another place than the one it was used in. */
export const HOLD_REASONS = ['asked', 'restored', 'copied'] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

export interface Hold {
  readonly reason: HoldReason;
  readonly at: Date;
  /** The last sign of life of a process that worked on the data before; what it did later is not known here. */
  readonly dataUntil: Date | null;
}

export interface Place {
  /** PostgreSQL's own name of a cluster and its standbys; null where it does not tell. */
  readonly systemIdentifier: string | null;
  readonly databaseOid: number | null;
  /** Names the restore that the server's files come from; null where they come from none. */
  readonly restoredAs: string | null;
}

const WORDS: Readonly<Record<HoldReason, string>> = {
  asked: 'RECOVERY=hold was set',
  restored: 'it was restored from a backup',
  copied: 'it is a copy of the database that was used before',
};

/** Why a copy that was last used in `known` and is now in `found` must be held; undefined where it need not. */
export function reasonToHold(known: Place, found: Place, isAsked: boolean): HoldReason | undefined {
  if (isAsked) return 'asked';
  if (found.restoredAs !== null && found.restoredAs !== known.restoredAs) return 'restored';
  const isElsewhere =
    differ(known.systemIdentifier, found.systemIdentifier) || differ(known.databaseOid, found.databaseOid);
  return isElsewhere ? 'copied' : undefined;
}

/** What was never recorded, or is not told, says nothing. */
function differ<T>(known: T | null, found: T | null): boolean {
  return known !== null && found !== null && known !== found;
}

/** A hold in a sentence for operators. */
export function describeHold({ reason, at }: Hold): string {
  return `Nothing is sent since ${at.toISOString()}: ${WORDS[reason]}. An operator ends it with: npm run cli -- release.`;
}
