/** Time, ids and secrets come from these ports, so that tests can use fixed values. */
export interface Clock {
  now(): Date;
}

/** A clock that shows the database's time (R222). */
export interface AgreedClock extends Clock {
  /** True if the clocks of the database and of this machine agree. If not, nothing may be expired or deleted. */
  agrees(): Promise<boolean>;
}

export interface Ids {
  /** Returns a UUID version 7. Such ids sort by creation time. */
  uuid(): string;
  random(bytes: number): Buffer;
}

/** Encrypts secrets with the master key before they are stored (AES-256-GCM). */
export interface SecretBox {
  seal(plain: string): string;
  /** Decrypts a text. It also tries previous master keys. Throws if no key fits. */
  open(sealed: string): string;
}

/** Measures elapsed time and waits. Use `Clock` for decisions about stored times. */
export interface Timers {
  /** Returns milliseconds of a monotonic clock. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or when `signal` aborts. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** Hashes passwords (argon2id), a limited number at the same time. */
export interface PasswordHasher {
  /** Number of hashes that wait to be computed. */
  readonly waiting: number;
  /**
   * Returns the hash of a password in PHC form. With `like`, it uses the salt and cost of that hash, so the same
   * password gives the same hash. Otherwise the salt is new. Throws if `like` is not such a hash.
   */
  hash(password: string, like?: string): Promise<string>;
}

/** Time-based one-time codes of authenticator apps (RFC 6238). */
export interface Totp {
  /** Returns a new secret in base32. */
  newSecret(): string;
  /** Returns the `otpauth:` URI for a QR code. */
  uri(secret: string, label: string, issuer: string): string;
  /**
   * Returns the time step of a right code. Returns undefined for a wrong code, and for a code whose step is not after
   * `afterStep`, because it was used before.
   */
  stepOf(secret: string, code: string, now: Date, afterStep: number): number | undefined;
}
