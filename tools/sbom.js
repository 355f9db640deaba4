/**
 * The script of `npm run sbom`. It prints a CycloneDX list of the packages that are delivered: those whose code is in the
 * bundle of the server or in the pages for browsers, and those that `npm ci` installs beside the bundle. Compilers and
 * types are dependencies of the sources too, because `npm start` builds them, but they are not delivered.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { build } from 'vite';
import { bundle, packageOf } from './bundle.js';
import { builtManifest } from './pack.js';

const ROOT = dirname(import.meta.dirname);
/** The builds of vite.config.js for browsers. */
const PAGES = ['production', 'explorer'];

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
const npm = (args, cwd) =>
  execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  });
// With `--omit dev`, npm leaves out packages that development needs as well, such as graphql and react.
const listOf = (directory) =>
  JSON.parse(
    npm(['sbom', '--include', 'dev', '--sbom-format', 'cyclonedx', '--package-lock-only'], directory),
  );

/** Returns the directories of the packages whose code, styles or fonts are in the pages for browsers. */
async function packagesOfPages() {
  const configFile = join(ROOT, 'vite.config.js');
  const found = new Set();
  for (const mode of PAGES) {
    const { output } = await build({ configFile, mode, logLevel: 'silent', build: { write: false } });
    const files = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : file.originalFileNames));
    // The names of assets are relative to the root of the page's sources.
    for (const file of files) found.add(packageOf(resolve(ROOT, 'src/page', file)));
  }
  found.delete(undefined);
  return found;
}

/** Lists what `npm ci` installs beside the bundle. */
function installed(manifest, directory) {
  writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest));
  cpSync(join(ROOT, 'package-lock.json'), join(directory, 'package-lock.json'));
  npm(['install', '--package-lock-only', '--offline', '--ignore-scripts'], directory);
  return listOf(directory).components.map((component) => component['bom-ref']);
}

async function delivered() {
  execFileSync(process.execPath, ['tools/build-when-old.js', 'server'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const source = readJson(join(ROOT, 'package.json'));
  const directory = mkdtempSync(join(tmpdir(), 'gateway-sbom-'));
  try {
    const places = [
      ...(await bundle(join(ROOT, 'dist'), join(directory, 'bundled'))),
      ...(await packagesOfPages()),
    ];
    const bundled = places.map((place) => {
      const { name, version } = readJson(join(place, 'package.json'));
      return `${name}@${version}`;
    });
    return { source, refs: new Set([...bundled, ...installed(builtManifest(source), directory)]) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const { source, refs } = await delivered();
const list = listOf(ROOT);
const components = list.components
  .filter((component) => refs.has(component['bom-ref']))
  .map((component) => ({
    ...component,
    // npm says it of packages that development needs otherwise, although their code is in the bundle.
    properties: component.properties.filter(({ name }) => name !== 'cdx:npm:package:development'),
  }));
const missing = [...refs].filter((ref) => !components.some((component) => component['bom-ref'] === ref));
if (missing.length > 0)
  throw new Error(
    `package-lock.json does not have these packages, which are delivered: ${missing.join(', ')}. Run npm ci.`,
  );
const direct = components.filter(
  ({ name }) => name in source.dependencies || name in source.optionalDependencies,
);
const own = list.metadata.component;
const dependencies = list.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
const described = {
  ...list,
  metadata: { ...list.metadata, component: { ...own, name: source.name, type: 'application' } },
  components,
  dependencies: [
    { ref: own['bom-ref'], dependsOn: direct.map((component) => component['bom-ref']) },
    ...dependencies,
  ],
};
console.log(JSON.stringify(described, null, 2));
