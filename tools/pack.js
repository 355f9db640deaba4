/**
 * The script of `npm run package`. It writes `messaging-gateway-VERSION.tgz`: the built gateway without compilers, and
 * with the code of its packages inside. After unpacking, `npm ci` installs the few others, in the versions of
 * package-lock.json, and `npm start` runs it without a build.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { UNBUNDLED } from './unbundled.js';

const DOCUMENTS = ['README.md', 'CHANGELOG.md', 'LICENSE', '.npmrc', '.env.example'];

/** Makes the package.json of the built gateway from the one of the sources. */
export function builtManifest(source) {
  const { name, version, description, license, type, engines, scripts, optionalDependencies } = source;
  const needed = Object.entries(source.dependencies).filter(([dependency]) => UNBUNDLED.test(dependency));
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    private: true,
    scripts: { start: scripts.start, cli: scripts.cli },
    dependencies: Object.fromEntries(needed),
    optionalDependencies,
    allowScripts: source.allowScripts,
  };
}

/** Copies the documents, and the files that docs/operations/deploy.md uses, to `stage`. */
export function copyDocuments(stage) {
  for (const document of DOCUMENTS) cpSync(document, join(stage, document));
  cpSync('deploy', join(stage, 'deploy'), { recursive: true });
  cpSync('docs', join(stage, 'docs'), { recursive: true, filter: (path) => !path.endsWith('screenshots') });
}

/** What the bundle contains, of the directories of dist. */
const BUNDLED = ['src', 'migrations', 'sdk'];

/** Puts the server's modules and packages in `stage`/dist together. */
async function bundleIn(stage) {
  // Loaded here, because jest cannot load rolldown.
  const { bundle, writeLicences } = await import('./bundle.js');
  const dist = join(stage, 'dist');
  const bundled = join(stage, 'bundled');
  symlinkSync(resolve('node_modules'), join(stage, 'node_modules'), 'junction');
  const packages = await bundle(dist, bundled);
  rmSync(join(stage, 'node_modules'));
  for (const name of BUNDLED) rmSync(join(dist, name), { recursive: true });
  cpSync(bundled, dist, { recursive: true });
  rmSync(bundled, { recursive: true });
  writeLicences(packages, join(stage, 'THIRD-PARTY-LICENSES.txt'));
}

async function pack() {
  const npm = (args, cwd) => execFileSync('npm', args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  execFileSync(process.execPath, ['tools/build-when-old.js'], { stdio: 'inherit' });
  const directory = mkdtempSync(join(tmpdir(), 'gateway-package-'));
  const stage = join(directory, 'package');
  try {
    cpSync('dist', join(stage, 'dist'), {
      recursive: true,
      filter: (path) => !/\.tsbuildinfo$|\.((console|explorer|docs)-)?built$|contact-sheet$/.test(path),
    });
    await bundleIn(stage);
    cpSync('bin', join(stage, 'bin'), { recursive: true });
    copyDocuments(stage);
    const manifest = builtManifest(JSON.parse(readFileSync('package.json', 'utf8')));
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    cpSync('package-lock.json', join(stage, 'package-lock.json'));
    // Removes packages that are not needed from the lock file, without network access.
    npm(['install', '--package-lock-only', '--offline', '--ignore-scripts'], stage);
    renameSync(join(stage, 'package-lock.json'), join(stage, 'npm-shrinkwrap.json'));
    const tarball = `${manifest.name}-${manifest.version}.tgz`;
    npm(['pack', '--pack-destination', directory], stage);
    cpSync(join(directory, tarball), tarball);
    console.log(tarball);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

if (import.meta.filename === process.argv[1]) await pack();
