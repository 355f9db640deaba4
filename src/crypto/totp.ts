import { generateSecret, generateURI, verifySync } from 'otplib';
import type { Totp } from '../domain/ports/system.ts';

const PERIOD_SECONDS = 30;

/** Six digits, 30 seconds, SHA-1: what every authenticator app reads (RFC 6238). */
export const totp: Totp = {
  newSecret: () => generateSecret(),
  uri: (secret, label, issuer) => generateURI({ strategy: 'totp', issuer, label, secret }),
  stepOf(secret, code, now, afterStep) {
    const result = verifySync({
      secret,
      token: code,
      epoch: Math.floor(now.getTime() / 1000),
      // A phone's clock may be off, and people type slowly.
      epochTolerance: PERIOD_SECONDS,
      afterTimeStep: afterStep,
    });
    return result.valid && 'timeStep' in result ? result.timeStep : undefined;
  },
};
