import type { User } from '../accounts/user.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import type { PasskeyCredential, PasskeyJson } from '../ports/passkeys.ts';
import { hashToken } from './access-token.ts';
import { CHALLENGE_MS } from './second-factor.ts';

/**
 * Checks `answer` and returns the person whose passkey gave it. `takeChallenge` marks the challenge as used, and
 * returns false if there is no such open challenge. Returns undefined for an answer that is not valid: of another
 * origin, without user verification, used before, or with a counter that has not grown.
 */
export async function takePasskey(
  { stores, uow, passkeys, clock }: Pick<Dependencies, 'stores' | 'uow' | 'passkeys' | 'clock'>,
  answer: PasskeyJson,
  takeChallenge: (challenge: Buffer) => Promise<boolean>,
): Promise<{ readonly user: User; readonly passwordHash: string } | undefined> {
  const read = passkeys.read(answer);
  if (!read) return undefined;
  const found = await stores.secondFactors.findPasskey(read.credentialId);
  if (!found || !(await takeChallenge(read.challenge))) return undefined;
  const { factorId, credential, ...person } = found;
  const counter = await passkeys.verifyRequest(answer, read.challenge, credential);
  if (counter === undefined) return undefined;
  // If two answers with the same counter arrive at the same time, only one is accepted. For a passkey whose counter is
  // always 0, the challenge prevents a second use.
  const isCounted = await uow.run((tx) =>
    tx.secondFactors.countPasskey(factorId, credential.counter, counter, clock.now()),
  );
  return isCounted ? person : undefined;
}

/**
 * Returns the options for the authenticator that makes a passkey of this person. Throws `validation_error` if the
 * gateway has no host name (R304).
 */
export async function startNewPasskey(
  deps: Pick<Dependencies, 'stores' | 'passkeys' | 'clock' | 'ids'>,
  { id: userId, email }: Pick<User, 'id' | 'email'>,
): Promise<PasskeyJson> {
  const { stores, passkeys, ids } = deps;
  if (!passkeys.isAvailable()) {
    const message =
      'Browsers take passkeys of a host name only, such as localhost: the operator sets PUBLIC_URL';
    throw validationError([{ path: '', message }]);
  }
  const challenge = ids.random(32);
  await openChallenge(deps, challenge, userId);
  const known = await stores.secondFactors.passkeysOf(userId);
  return passkeys.creationOptions({ userId, email, challenge, known });
}

/** Returns the passkey that the person made with `startNewPasskey`. Throws `validation_error` if it is not valid. */
export async function takeNewPasskey(
  deps: Pick<Dependencies, 'stores' | 'passkeys' | 'clock'>,
  answer: PasskeyJson,
  userId: string,
): Promise<PasskeyCredential> {
  const { passkeys } = deps;
  const read = passkeys.read(answer);
  const isOpen = read && (await takeOpenChallenge(deps, read.challenge, userId));
  const credential = isOpen ? await passkeys.verifyCreation(answer, read.challenge) : undefined;
  if (credential) return credential;
  const message =
    'does not hold: it must be of this address and of an authenticator that asks for a PIN, a finger or a face; begin again';
  throw validationError([{ path: 'passkey', message }]);
}

/**
 * Stores a challenge, which can be answered for 5 minutes. Only a passkey of the person `userId` can answer it. If
 * `userId` is null, any passkey can.
 */
export async function openChallenge(
  { stores, clock }: Pick<Dependencies, 'stores' | 'clock'>,
  challenge: Buffer,
  userId: string | null,
): Promise<void> {
  const now = clock.now();
  await stores.secondFactors.insertPasskeyChallenge({
    challengeHash: hashToken(challenge.toString('base64url')),
    userId,
    now,
    expiresAt: new Date(now.getTime() + CHALLENGE_MS),
  });
}

/** Marks a challenge of `openChallenge` as used. Returns false if it is not open. */
export function takeOpenChallenge(
  { stores, clock }: Pick<Dependencies, 'stores' | 'clock'>,
  challenge: Buffer,
  userId: string | null,
): Promise<boolean> {
  return stores.secondFactors.takePasskeyChallenge(
    hashToken(challenge.toString('base64url')),
    userId,
    clock.now(),
  );
}
