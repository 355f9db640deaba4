import type { User } from '../accounts/user.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PasskeyJson } from '../ports/passkeys.ts';
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
