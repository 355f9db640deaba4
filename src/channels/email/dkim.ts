/**
 * DKIM (RFC 6376): mails are signed in the name of a domain, which publishes the key. nodemailer signs; here the key is
 * checked, since nodemailer sends a mail unsigned that it cannot sign.
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { pemOf } from '../pem.ts';

/** A shorter key is worth nothing to those who check (RFC 8301, 3.2). */
const LEAST_BITS = 1024;

export interface DkimSettings {
  readonly domain: string;
  readonly selector: string;
  /** PEM, or the path of a file that holds it. */
  readonly key: string;
}

export interface DkimSigning {
  readonly domainName: string;
  readonly keySelector: string;
  /** PEM. */
  readonly privateKey: string;
  /** Where the domain publishes the key, as a TXT record. */
  readonly recordName: string;
  /** What the record says. */
  readonly record: string;
}

/** What mails are signed with. Throws Error that says what is wrong with the key, and shows none of it. */
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
    throw new Error(`its private key is of the kind ${key.asymmetricKeyType}, but must be RSA; ${make}`);
  }
  if (bits < LEAST_BITS) {
    throw new Error(`its RSA key has ${bits} bits, but must have ${LEAST_BITS} at least; ${make}`);
  }
  return key;
}
