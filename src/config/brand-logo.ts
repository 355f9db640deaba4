import { readFileSync } from 'node:fs';
import { ConfigError } from './config.ts';

const MOST_BYTES = 64 * 1_024;
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** What may stand before the root of an SVG file, one after the other, and where each of them ends. */
const PROLOGUE = [
  { begins: '<?xml', ends: '?>' },
  { begins: '<!--', ends: '-->' },
  { begins: '<!doctype', ends: '>' },
] as const;

/** The operator's logo. */
export interface BrandLogo {
  readonly type: 'image/png' | 'image/svg+xml';
  readonly bytes: Buffer;
}

/** Reads the logo in the file of `BRAND_LOGO`. Undefined if no file is configured. Throws `ConfigError`. */
export function readBrandLogo(path: string | undefined): BrandLogo | undefined {
  if (path === undefined) return undefined;
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw unusable(path, error instanceof Error ? error.message : String(error));
  }
  if (bytes.length > MOST_BYTES) {
    throw unusable(path, `it has ${bytes.length} bytes, and at most ${MOST_BYTES} are allowed`);
  }
  if (bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return { type: 'image/png', bytes };
  if (isSvg(bytes.toString('utf8'))) return { type: 'image/svg+xml', bytes };
  throw unusable(path, 'it must be an SVG or a PNG file');
}

/** True if the root of a document is `svg`. Reads each character at most a few times. */
function isSvg(text: string): boolean {
  let rest = text
    .replace(/^\uFEFF/, '')
    .trimStart()
    .toLowerCase();
  for (;;) {
    const part = PROLOGUE.find(({ begins }) => rest.startsWith(begins));
    if (part === undefined) return /^<svg[\s/>]/.test(rest);
    const end = rest.indexOf(part.ends, part.begins.length);
    if (end === -1) return false;
    rest = rest.slice(end + part.ends.length).trimStart();
  }
}

function unusable(path: string, why: string): ConfigError {
  return new ConfigError(`BRAND_LOGO cannot be used: ${path}: ${why}.`);
}
