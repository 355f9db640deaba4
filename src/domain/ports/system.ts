/** What the domain needs of the world besides stores: time, ids, secrets. Tests hand in fixed ones. */
export interface Clock {
  now(): Date;
}

/** The database's time, and whether the clock of this machine is the same. */
export interface AgreedClock extends Clock {
  /** Asks the database: whether its clock and this machine's agree. What expires or deletes must not begin where they do not. */
  agrees(): Promise<boolean>;
}

export interface Ids {
  /** UUID version 7: ordered by time of creation. */
  uuid(): string;
  /** `bytes` random bytes. */
  random(bytes: number): Buffer;
}

/** Seals secrets at rest with the master key (AES-256-GCM). */
export interface SecretBox {
  seal(plain: string): string;
  /** Opens what `seal` made, also under a previous master key. Throws when no key fits. */
  open(sealed: string): string;
}

/** Time that passes, for waiting and for measuring; never for deciding about rows, which `Clock` does. */
export interface Timers {
  /** Milliseconds since some moment, by a clock that nobody sets. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` is aborted. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Password hashing (argon2id). A few passwords are hashed at once; the others wait. */
export interface PasswordHasher {
  /** How many wait for their turn. */
  readonly waiting: number;
  /**
   * The hash in PHC form, with a salt of its own or with salt and cost of another hash: the same password makes the same
   * hash then. Throws for what is no such hash.
   */
  hash(password: string, like?: string): Promise<string>;
}
