import type { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server';
import type { PasskeyJson, Passkeys } from '../domain/ports/passkeys.ts';

const TIMEOUT_MS = 5 * 60_000;

type Registration = Parameters<typeof verifyRegistrationResponse>[0]['response'];
type Authentication = Parameters<typeof verifyAuthenticationResponse>[0]['response'];

const encoded = (bytes: Buffer) => bytes.toString('base64url');
const decoded = (text: unknown) => Buffer.from(typeof text === 'string' ? text : '', 'base64url');
/** Returns a copy of the bytes with memory of its own. The library's types require it. */
const bytesOf = (bytes: Buffer): Uint8Array<ArrayBuffer> => Uint8Array.from(bytes);

/**
 * Loads the library on its first use. Most processes never use it, and it makes Node print warnings about the features
 * that it tries.
 */
const library = () => import('@simplewebauthn/server');

/** Creates passkeys for the origin of `publicUrl`, with @simplewebauthn/server. */
export function createPasskeys(publicUrl: () => string, productName: string): Passkeys {
  const place = () => {
    const { origin, hostname } = new URL(publicUrl());
    return { expectedOrigin: origin, expectedRPID: hostname };
  };
  return {
    isAvailable: () => !/^\[|^[\d.]+$/.test(place().expectedRPID),
    async creationOptions({ userId, email, challenge, known }) {
      const { generateRegistrationOptions } = await library();
      const options = await generateRegistrationOptions({
        rpName: productName,
        rpID: place().expectedRPID,
        userName: email,
        userID: Uint8Array.from(Buffer.from(userId.replaceAll('-', ''), 'hex')),
        challenge: bytesOf(challenge),
        timeout: TIMEOUT_MS,
        excludeCredentials: known.map((id) => ({ id: encoded(id) })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      return { ...options };
    },
    async requestOptions(challenge, credentials) {
      const { generateAuthenticationOptions } = await library();
      const options = await generateAuthenticationOptions({
        rpID: place().expectedRPID,
        challenge: bytesOf(challenge),
        timeout: TIMEOUT_MS,
        allowCredentials: credentials.map((id) => ({ id: encoded(id) })),
        userVerification: 'required',
      });
      return { ...options };
    },
    read(answer) {
      try {
        const { response, id } = answer as { response: PasskeyJson; id: unknown };
        const said: PasskeyJson = JSON.parse(decoded(response.clientDataJSON).toString('utf8'));
        const [challenge, credentialId] = [decoded(said.challenge), decoded(id)];
        return challenge.length > 0 && credentialId.length > 0 ? { challenge, credentialId } : undefined;
      } catch {
        return undefined;
      }
    },
    async verifyCreation(answer, challenge) {
      const { verifyRegistrationResponse } = await library();
      // The library throws for an answer that is not valid, and for JSON that it cannot read.
      const found = await verifyRegistrationResponse({
        response: answer as unknown as Registration,
        expectedChallenge: encoded(challenge),
        ...place(),
        requireUserVerification: true,
      }).catch(() => undefined);
      if (!found?.verified) return undefined;
      const { id, publicKey, counter } = found.registrationInfo.credential;
      return { id: decoded(id), publicKey: Buffer.from(publicKey), counter };
    },
    async verifyRequest(answer, challenge, { id, publicKey, counter }) {
      const { verifyAuthenticationResponse } = await library();
      const found = await verifyAuthenticationResponse({
        response: answer as unknown as Authentication,
        expectedChallenge: encoded(challenge),
        ...place(),
        credential: { id: encoded(id), publicKey: bytesOf(publicKey), counter },
        requireUserVerification: true,
      }).catch(() => undefined);
      return found?.verified ? found.authenticationInfo.newCounter : undefined;
    },
  };
}
