import { createPrivateKey, type KeyObject, sign } from 'node:crypto';

/** Reads a private key from PEM. Throws an Error that says what is wrong and contains no part of the key. */
export function privateKeyFrom(pem: string, type: 'rsa' | 'ec'): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new Error('it holds no private key in PEM');
  }
  if (key.asymmetricKeyType !== type)
    throw new Error(`its private key must be of type ${type.toUpperCase()}`);
  return key;
}

/** Returns a signed JSON Web Token: RS256 with an RSA key, ES256 with a P-256 key. */
export function signedToken(
  key: KeyObject,
  keyId: string | undefined,
  claims: Readonly<Record<string, string | number>>,
): string {
  const isRsa = key.asymmetricKeyType === 'rsa';
  const header = {
    alg: isRsa ? 'RS256' : 'ES256',
    typ: 'JWT',
    ...(keyId === undefined ? {} : { kid: keyId }),
  };
  const signed = `${encoded(header)}.${encoded(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), isRsa ? key : { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
