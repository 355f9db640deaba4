import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * Returns the PEM text of a setting. The setting is the text itself or the path of a PEM file. Throws an Error that
 * contains no part of the setting, because it may be a key without its first line.
 */
export function pemOf(setting: string): string {
  // Environment variables often contain line breaks as the two characters `\n`.
  if (setting.includes('-----BEGIN')) return setting.replaceAll('\\n', '\n');
  try {
    return readFileSync(setting, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`);
  }
}

/**
 * Returns the certificates in a PEM file, such as the certificates of a company's own certificate authority. Throws an
 * Error that names the file and says what is wrong.
 */
export function readCaBundle(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(
      `the file ${path}, named by ca, cannot be read (${code}); name a PEM file of certificates`,
    );
  }
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const certificate of certificates) new X509Certificate(certificate);
  } catch {
    throw new Error(`the file ${path}, named by ca, holds a certificate that cannot be read`);
  }
  if (certificates.length === 0) {
    throw new Error(`the file ${path}, named by ca, holds no certificate; name a PEM file of certificates`);
  }
  return certificates.join('\n');
}
