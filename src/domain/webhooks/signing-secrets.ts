/** Which secrets sign an attempt: the present one, and during the overlap of a rotation the one before it (R446). */
import type { SecretBox } from '../ports/system.ts';
import type { SealedEndpoint } from '../ports/webhook-stores.ts';
import type { AttemptRequest } from '../ports/webhook-transport.ts';
import type { Webhook } from './webhook.ts';

/** The secrets of an endpoint, not encrypted. */
export interface OpenSecrets {
  readonly secret: string;
  readonly previousSecret: string | null;
}

/** Decrypts the secrets of an endpoint. Throws if the master key does not fit. */
export function openSecrets(
  secrets: Pick<SecretBox, 'open'>,
  { secretSealed, previousSecretSealed }: SealedEndpoint,
): OpenSecrets {
  return {
    secret: secrets.open(secretSealed),
    previousSecret: previousSecretSealed === null ? null : secrets.open(previousSecretSealed),
  };
}

/** Returns the secrets that sign an attempt at `at`. */
export function signingSecrets(
  { secret, previousSecret }: OpenSecrets,
  { previousSecretEndsAt }: Pick<Webhook, 'previousSecretEndsAt'>,
  at: Date,
): Pick<AttemptRequest, 'secret' | 'previousSecret'> {
  const isOverlap = previousSecretEndsAt !== null && at < previousSecretEndsAt;
  return { secret, ...(isOverlap && previousSecret !== null ? { previousSecret } : {}) };
}
