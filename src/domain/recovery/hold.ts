/**
 * **Copy**: one database with all the data. Only one copy may send: a copy from a backup would send again what the
 * original has sent since the backup. **Place**: the PostgreSQL system and the database in which a copy is. **Held**:
 * the copy answers reads and sends nothing until an operator **releases** it.
 */

/**
 * `asked`: RECOVERY=hold is set. `restored`: `restore` has laid out the data. `copied`: the data is in another place than
 * before. `recovered`: PostgreSQL began a new timeline while no worker used the data.
 */
export const HOLD_REASONS = ['asked', 'restored', 'copied', 'recovered'] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

export interface Hold {
  readonly reason: HoldReason;
  readonly at: Date;
  /** When a process last worked on the data before the hold. This copy does not know later changes of the original. */
  readonly dataUntil: Date | null;
}

export interface Place {
  /** PostgreSQL's id of a cluster, which its standbys share. Null if unknown. */
  readonly systemIdentifier: string | null;
  readonly databaseOid: number | null;
  /** Id of the restore that made the server's files. Null if they come from no restore. */
  readonly restoredAs: string | null;
  /**
   * PostgreSQL begins a new timeline when it has recovered files from a backup, and when a standby is promoted. Eight hex
   * digits. Null if unknown.
   */
  readonly timeline: string | null;
}

/**
 * How long no worker has used the data before a new timeline means that it was recovered, in minutes. A promotion takes
 * less, or workers wait for it.
 */
export const UNUSED_MINUTES = 5;

const WORDS: Readonly<Record<HoldReason, string>> = {
  asked: 'RECOVERY=hold was set',
  restored: 'it was restored from a backup',
  copied: 'it is a copy of the database that was used before',
  recovered: `it was recovered from a backup, or a standby was promoted, while no gateway had used it for ${UNUSED_MINUTES} minutes`,
};

/**
 * Returns why a copy must be held. It was last used at `known` and is now at `found`. `isUnused`: for UNUSED_MINUTES no
 * worker has used it. Undefined if it need not be held.
 */
export function reasonToHold(
  { known, found, isUnused }: { readonly known: Place; readonly found: Place; readonly isUnused: boolean },
  isAsked: boolean,
): HoldReason | undefined {
  if (isAsked) return 'asked';
  if (found.restoredAs !== null && found.restoredAs !== known.restoredAs) return 'restored';
  const isElsewhere =
    differ(known.systemIdentifier, found.systemIdentifier) || differ(known.databaseOid, found.databaseOid);
  if (isElsewhere) return 'copied';
  return isUnused && differ(known.timeline, found.timeline) ? 'recovered' : undefined;
}

/** True if both values are known and not equal. */
function differ<T>(known: T | null, found: T | null): boolean {
  return known !== null && found !== null && known !== found;
}

/** Describes a hold in a sentence for operators. */
export function describeHold({ reason, at }: Hold): string {
  return `Nothing is sent since ${at.toISOString()}: ${WORDS[reason]}. An operator ends it with: npm run cli -- release.`;
}
