/**
 * A certificate for loopback that is made at run time. So the repository holds no private key, and no certificate that
 * expires.
 */
import { generateKeyPairSync, sign } from 'node:crypto';

const OID_ECDSA_SHA256 = '06082a8648ce3d040302';
const OID_COMMON_NAME = '0603550403';
const OID_ALT_NAMES = '0603551d11';

/**
 * Creates an EC key and a self-signed certificate in PEM. They are for `localhost` and `127.0.0.1`, and valid from 2020
 * to 2049.
 */
export function selfSignedCertificate(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const algorithm = der(0x30, hex(OID_ECDSA_SHA256));
  const name = der(0x30, der(0x31, der(0x30, hex(OID_COMMON_NAME), der(0x0c, Buffer.from('localhost')))));
  const validity = der(
    0x30,
    der(0x17, Buffer.from('200101000000Z')),
    der(0x17, Buffer.from('491231235959Z')),
  );
  const altNames = der(0x30, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = der(0xa3, der(0x30, der(0x30, hex(OID_ALT_NAMES), der(0x04, altNames))));
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature));
  const base64 = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

function der(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const header =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...header]), content]);
}
