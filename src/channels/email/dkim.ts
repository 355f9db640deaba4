/**
 * DKIM (RFC 6376): mails are signed for a domain, which publishes the key. nodemailer signs. The key is checked here,
 * since nodemailer sends a mail unsigned when it cannot sign it.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { pemOf } from '../pem.ts';

/** Verifiers must ignore shorter keys (RFC 8301, 3.2). */
const LEAST_BITS = 1024;

export interface DkimSettings {
  readonly domain: string;
  readonly selector: string;
  /** PEM, or the path of a PEM file. */
  readonly key: string;
}

export interface DkimSigning {
  readonly domainName: string;
  readonly keySelector: string;
  /** PEM. */
  readonly privateKey: string;
  /** The name of the TXT record that publishes the key. */
  readonly recordName: string;
  /** The content of the TXT record. */
  readonly record: string;
}

/** Throws Error that says what is wrong with the key and shows nothing of it. */
export function dkimSigningOf({ domain, selector, key }: DkimSettings): DkimSigning {
  const privateKey = rsaKeyOf(pemOf(key));
  const published = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64');
  return {
    domainName: domain,
    keySelector: selector,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    recordName: `${selector}._domainkey.${domain}`,
    record: `v=DKIM1; k=rsa; p=${published}`,
  };
}

function rsaKeyOf(pem: string): KeyObject {
  const make = 'make one with: openssl genrsa 2048';
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    throw new Error(`it holds no private key in PEM that can be read without a passphrase; ${make}`);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa') {
    throw new Error(`its private key is of type ${key.asymmetricKeyType}, but must be RSA; ${make}`);
  }
  if (bits < LEAST_BITS) {
    throw new Error(`its RSA key has ${bits} bits, but must have ${LEAST_BITS} at least; ${make}`);
  }
  return key;
}
