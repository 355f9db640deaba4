import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { builtManifest } from '../../tools/pack.js';

const ROOT = join(import.meta.dirname, '../..');
const SOURCES = join(ROOT, 'src');
/** Directories whose code runs in a browser. A build puts it and its packages together. */
const IN_BROWSERS = /^(console|explorer)\//;
/** Packages that are started or loaded by other means than an import in the sources. */
const OTHERWISE = ['node', 'reflect-metadata'];
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
  it('depends on what the server imports, and on nothing that only the console or a build needs', () => {
    const manifest = builtManifest(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
    const { dependencies, optionalDependencies } = manifest;
    const installed = [...Object.keys(dependencies), ...Object.keys(optionalDependencies ?? {})];
    const imported = importedPackages();
    expect(
      Object.keys(dependencies).filter((name) => !imported.has(name) && !OTHERWISE.includes(name)),
    ).toEqual([]);
    expect([...imported].filter((name) => !installed.includes(name))).toEqual([]);
  });
});
