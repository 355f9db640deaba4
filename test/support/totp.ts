import { generateSync } from 'otplib';

const STEP_SECONDS = 30;

/** Returns the code that an authenticator app shows `steps` × 30 seconds from now. */
export const codeOf = (secret: string, steps = 0): string =>
  generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + steps * STEP_SECONDS });
