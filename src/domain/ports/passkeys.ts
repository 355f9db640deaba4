/** What browsers exchange with an authenticator, as JSON (WebAuthn, level 3). */
export type PasskeyJson = Readonly<Record<string, unknown>>;

export interface PasskeyCredential {
  readonly id: Buffer;
  readonly publicKey: Buffer;
  /** Of signatures; 0 where the authenticator does not count. */
  readonly counter: number;
}

/**
 * Passkeys (WebAuthn) of this gateway's origin. Every answer must be of this origin, and of an authenticator that has
 * verified the person (PIN, finger, face).
 */
export interface Passkeys {
  /** Whether the gateway's address has a name that browsers take: a host, not an IP address. */
  readonly isAvailable: () => boolean;
  creationOptions(input: {
    readonly userId: string;
    readonly email: string;
    readonly challenge: Buffer;
    readonly known: readonly Buffer[];
  }): Promise<PasskeyJson>;
  /** `credentials`: those that may answer; all when empty. */
  requestOptions(challenge: Buffer, credentials: readonly Buffer[]): Promise<PasskeyJson>;
  /** The challenge that an answer signs, and its credential; undefined for what is no answer. Nothing is checked. */
  read(answer: PasskeyJson): { readonly challenge: Buffer; readonly credentialId: Buffer } | undefined;
  /** The new credential; undefined for an answer that does not hold. */
  verifyCreation(answer: PasskeyJson, challenge: Buffer): Promise<PasskeyCredential | undefined>;
  /** The new counter; undefined for an answer that does not hold, or whose counter has not grown. */
  verifyRequest(
    answer: PasskeyJson,
    challenge: Buffer,
    credential: PasskeyCredential,
  ): Promise<number | undefined>;
}
