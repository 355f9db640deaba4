import type { PublicKeyCredentialCreationOptionsJSON } from '@simplewebauthn/browser';
import { ApiError } from './api-error.ts';
import { t } from './words.ts';

/** WebAuthn options from the gateway, or the authenticator's response to them, as JSON. */
export type PasskeyJson = Readonly<Record<string, unknown>>;

/** True if the browser supports passkeys here. WebAuthn needs a host name, not an IP address. */
export function hasPasskeys(): boolean {
  return 'PublicKeyCredential' in window && !/^[\d.]+$|^\[/.test(location.hostname);
}

/** Creates a passkey. Throws `ApiError` if the person cancels. */
export async function createPasskey(options: PasskeyJson): Promise<PasskeyJson> {
  const { startRegistration } = await import('@simplewebauthn/browser');
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  return { ...(await orCanceled(startRegistration({ optionsJSON }))) };
}

/** Signs a challenge with a passkey. Throws `ApiError` if the person cancels, or has no passkey for this site. */
export async function askPasskey(options: PasskeyJson): Promise<PasskeyJson> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const optionsJSON = options as unknown as Parameters<typeof startAuthentication>[0]['optionsJSON'];
  return { ...(await orCanceled(startAuthentication({ optionsJSON }))) };
}

async function orCanceled<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch {
    throw new ApiError('PASSKEY', t('No passkey was used. Try again, or use another way.'));
  }
}
