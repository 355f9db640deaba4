/**
 * DKIM (RFC 6376): a mail is signed for a domain, and the domain publishes the public key. nodemailer signs. If
 * nodemailer could not use the key, it would send mails unsigned. So the key is checked here.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { pemOf } from '../pem.ts';

/** Least length of the key in bits. Receivers must ignore shorter keys (RFC 8301, 3.2). */
const LEAST_BITS = 1024;

export interface DkimSettings {
  readonly domain: string;
  readonly selector: string;
  /** The private key as PEM, or the path of a PEM file. */
  readonly key: string;
}

export interface DkimSigning {
  readonly domainName: string;
  readonly keySelector: string;
  /** The private key as PEM. */
  readonly privateKey: string;
  /** Name of the DNS TXT record that publishes the public key. */
  readonly recordName: string;
  /** Content of the TXT record. */
  readonly record: string;
}

/** Checks the key. Throws an Error that says what is wrong with it and contains no part of it. */
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
