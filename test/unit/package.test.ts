import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { builtManifest } from '../../tools/pack.js';
import { UNBUNDLED } from '../../tools/unbundled.js';

const ROOT = join(import.meta.dirname, '../..');
const SOURCES = join(ROOT, 'src');
/** Directories whose code runs in a browser. A build puts it and its packages together. */
const IN_BROWSERS = /^(console|explorer)\//;
const IMPORTED = /(?:from |import |import\(|resolve\()'((?:@[^/'\s]+\/)?[\w-][^/'\s]*)/g;

/** Returns the packages that the server's sources import. */
function importedPackages(): Set<string> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
  const names = files
    .filter((file) => file.endsWith('.ts') && !IN_BROWSERS.test(file))
    .flatMap((file) => [...readFileSync(join(SOURCES, file), 'utf8').matchAll(IMPORTED)])
    .map(([, name]) => name!);
  return new Set(names.filter((name) => !name.startsWith('node:')));
}

describe('the package of the built gateway', () => {
  it('depends on what its bundle leaves out, and on nothing else', () => {
    const source = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const { dependencies } = builtManifest(source);
    const leftOut = [...importedPackages()].filter((name) => UNBUNDLED.test(name));
    expect(leftOut.length).toBeGreaterThan(0);
    expect(Object.keys(dependencies).sort()).toEqual(leftOut.sort());
  });
});
