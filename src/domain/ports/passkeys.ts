/** JSON that the browser exchanges with an authenticator, which holds the passkey (WebAuthn, level 3). */
export type PasskeyJson = Readonly<Record<string, unknown>>;

export interface PasskeyCredential {
  readonly id: Buffer;
  readonly publicKey: Buffer;
  /** Number of signatures that the authenticator made. 0 if the authenticator does not count them. */
  readonly counter: number;
}

/**
 * Creates and checks passkeys (WebAuthn) of this gateway's origin. It accepts only answers for this origin, from an
 * authenticator that has verified the person (PIN, finger, face).
 */
export interface Passkeys {
  /** True if the gateway's URL has a host name. Browsers accept no passkeys for an IP address. */
  readonly isAvailable: () => boolean;
  creationOptions(input: {
    readonly userId: string;
    readonly email: string;
    readonly challenge: Buffer;
    readonly known: readonly Buffer[];
  }): Promise<PasskeyJson>;
  /** `credentials` are the ids of the passkeys that may answer. If it is empty, any passkey may answer. */
  requestOptions(challenge: Buffer, credentials: readonly Buffer[]): Promise<PasskeyJson>;
  /**
   * Returns the challenge and the credential id in an answer, without checking its signature. Undefined if the JSON is
   * no such answer.
   */
  read(answer: PasskeyJson): { readonly challenge: Buffer; readonly credentialId: Buffer } | undefined;
  /** Checks the answer to `creationOptions`. Returns the new credential. Undefined if the answer is not valid. */
  verifyCreation(answer: PasskeyJson, challenge: Buffer): Promise<PasskeyCredential | undefined>;
  /**
   * Checks the answer to `requestOptions`. Returns the new counter. Undefined if the answer is not valid or the counter
   * has not grown.
   */
  verifyRequest(
    answer: PasskeyJson,
    challenge: Buffer,
    credential: PasskeyCredential,
  ): Promise<number | undefined>;
}
