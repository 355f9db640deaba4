import { generateSecret, generateURI, verifySync } from 'otplib';
import type { Totp } from '../domain/ports/system.ts';

const PERIOD_SECONDS = 30;

/** Codes of six digits, a period of 30 seconds and SHA-1: every authenticator app supports these (RFC 6238). */
export const totp: Totp = {
  newSecret: () => generateSecret(),
  uri: (secret, label, issuer) => generateURI({ strategy: 'totp', issuer, label, secret }),
  stepOf(secret, code, now, afterStep) {
    const result = verifySync({
      secret,
      token: code,
      epoch: Math.floor(now.getTime() / 1000),
      // Also accept the previous and the next code, because a phone's clock may be wrong and people type slowly.
      epochTolerance: PERIOD_SECONDS,
      afterTimeStep: afterStep,
    });
    return result.valid && 'timeStep' in result ? result.timeStep : undefined;
  },
};
