import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { useState } from 'react';
import { ApiError } from './api-error.ts';

/** What the gateway gives the browser for an authenticator, or takes from it. */
export type PasskeyJson = Readonly<Record<string, unknown>>;

/** Whether this browser takes passkeys at this address: a host name, not an IP address. */
export function hasPasskeys(): boolean {
  return 'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(location.hostname);
}

/** Makes a passkey. Throws `ApiError` when the person cancels. */
export async function createPasskey(options: PasskeyJson): Promise<PasskeyJson> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  return { ...(await orCanceled(startRegistration({ optionsJSON }))) };
}

/** Asks a passkey. Throws `ApiError` when the person cancels, or has none for this address. */
export async function askPasskey(options: PasskeyJson): Promise<PasskeyJson> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const optionsJSON = options as unknown as Parameters<typeof startAuthentication>[0]['optionsJSON'];
  return { ...(await orCanceled(startAuthentication({ optionsJSON }))) };
}

async function orCanceled<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch {
    throw new ApiError('PASSKEY', 'No passkey was used. Try again, or use another way.');
  }
}

/** Runs steps that alternate between the gateway and an authenticator. */
export function usePasskeySteps(steps: () => Promise<void>) {
  const [isPending, setIsPending] = useState(false);
  const [error, setError] = useState<Error>();
  const run = async () => {
    setIsPending(true);
    setError(undefined);
    try {
      await steps();
    } catch (fault) {
      setError(fault instanceof Error ? fault : new Error('It did not work.'));
    } finally {
      setIsPending(false);
    }
  };
  return { isPending, error, run: () => void run() };
}
