/** What a look at the replica of DATABASE_READ_URL shows. */
export type ReplicaLook = { readonly unreachable: unknown } | ReplicaFacts;

export interface ReplicaFacts {
  /** The version of its PostgreSQL, such as `18.4`. */
  readonly version: string;
  /** The user of DATABASE_READ_URL. */
  readonly user: string;
  /** True if it has the database of DATABASE_URL: the same system identifier, and the same database there. */
  readonly isSameDatabase: boolean;
  /** How it follows the primary. Undefined if it is no standby. */
  readonly following: Following | undefined;
}

export interface Following {
  /** False if no process receives the log of another server. */
  readonly isReceiving: boolean;
  /** The timeline that it receives. Null if it receives nothing, or if the user may not see it. */
  readonly timeline: string | null;
  readonly primaryTimeline: string;
  /** True if somebody has paused the replay. */
  readonly isPaused: boolean;
  /** False if it did not replay what the primary had at the first look. */
  readonly hasCaughtUp: boolean;
  /** How far behind it was at the first look, or at the last one if it did not catch up. */
  readonly behindBytes: number;
  /** Age of the last transaction that it has replayed, in seconds. 0 if it is not behind. Null if there was none. */
  readonly behindSeconds: number | null;
}
