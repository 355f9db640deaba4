import { readFileSync } from 'node:fs';

/**
 * The PEM that a setting holds, or that is in the file it names. Throws Error that shows nothing of the setting: it may
 * be a key without its first line.
 */
export function pemOf(setting: string): string {
  // In a variable, line breaks are often written as two characters.
  if (setting.includes('-----BEGIN')) return setting.replaceAll('\\n', '\n');
  try {
    return readFileSync(setting, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(
      code === 'ENOENT' ? 'there is no such file' : `it must be a file that can be read (${code})`,
    );
  }
}
