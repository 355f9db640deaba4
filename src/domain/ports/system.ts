/** Time, ids and secrets. Tests use fixed ones. */
export interface Clock {
  now(): Date;
}

/** The database's time (R222). */
export interface AgreedClock extends Clock {
  /** Whether the clocks of the database and of this machine agree. If not, nothing may be expired or deleted. */
  agrees(): Promise<boolean>;
}

export interface Ids {
  /** UUID version 7, ordered by creation time. */
  uuid(): string;
  random(bytes: number): Buffer;
}

/** Encrypts stored secrets with the master key (AES-256-GCM). */
export interface SecretBox {
  seal(plain: string): string;
  /** Decrypts, also with a previous master key. Throws when no key fits. */
  open(sealed: string): string;
}

/** Elapsed time, for waiting and measuring. Decisions about rows use `Clock`. */
export interface Timers {
  /** Milliseconds of a monotonic clock. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or when `signal` aborts. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Password hashing (argon2id) with bounded parallelism. */
export interface PasswordHasher {
  /** Number of waiting computations. */
  readonly waiting: number;
  /**
   * The hash in PHC form, with a new salt or with the salt and cost of `like`; the same password then has the same
   * hash. Throws when `like` is no such hash.
   */
  hash(password: string, like?: string): Promise<string>;
}

/** Time-based one-time codes of authenticator apps (RFC 6238). */
export interface Totp {
  /** A new secret in base32. */
  newSecret(): string;
  /** The `otpauth:` URI for a QR code. */
  uri(secret: string, label: string, issuer: string): string;
  /** The time step of a right code. Undefined for a wrong code, and for one whose step is not after `afterStep`. */
  stepOf(secret: string, code: string, now: Date, afterStep: number): number | undefined;
}
