import type { User } from '../accounts/user.ts';
import type { Dependencies } from '../dependencies.ts';
import type { PasskeyJson } from '../ports/passkeys.ts';
import { hashToken } from './access-token.ts';
import { CHALLENGE_MS } from './second-factor.ts';

/**
 * The person whose passkey gave `answer`. The challenge is used up by `takeChallenge`, which returns false for one that
 * is not open. Undefined for an answer that does not hold: of another origin, without user verification, given before,
 * or with a counter that has not grown.
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
  // Of two concurrent answers with the same counter one is taken. Where it stays 0 the challenge decides.
  const isCounted = await uow.run((tx) =>
    tx.secondFactors.countPasskey(factorId, credential.counter, counter, clock.now()),
  );
  return isCounted ? person : undefined;
}

/** Stores a challenge for a passkey of the person, or of anybody with null, which can be answered for 5 minutes. */
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

/** Uses up a challenge of `openChallenge`. Returns false for one that is not open. */
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
