/**
 * The script of `npm run package`. It writes `messaging-gateway-VERSION.tgz`: the built gateway without compilers.
 * After unpacking, `npm ci` and `npm start` run it without a build. It uses the package versions of package-lock.json.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Dependencies that only a build needs. They are not devDependencies, because in a clone `npm start` builds the
 * gateway.
 */
const ONLY_TO_BUILD =
  /^(@types\/.*|typescript|vite|react|react-dom|wouter|graphql-sse|graphiql|@graphiql\/.*|markdown-it|highlight\.js|@tanstack\/.*|radix-ui|cmdk|lucide-react|uqr|@simplewebauthn\/browser|@fontsource-variable\/.*)$/;
const DOCUMENTS = ['README.md', 'CHANGELOG.md', 'LICENSE', '.npmrc'];

/** Makes the package.json of the built gateway from the one of the sources. */
export function builtManifest(source) {
  const { name, version, description, license, type, engines, scripts, optionalDependencies } = source;
  const needed = Object.entries(source.dependencies).filter(
    ([dependency]) => !ONLY_TO_BUILD.test(dependency),
  );
  // Drop this override: it concerns React, which the package does not contain.
  const { graphiql: _, ...overrides } = source.overrides;
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
    overrides,
    allowScripts: source.allowScripts,
  };
}

function pack() {
  const npm = (args, cwd) => execFileSync('npm', args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  execFileSync(process.execPath, ['tools/build-when-old.js'], { stdio: 'inherit' });
  const directory = mkdtempSync(join(tmpdir(), 'gateway-package-'));
  const stage = join(directory, 'package');
  try {
    cpSync('dist', join(stage, 'dist'), {
      recursive: true,
      filter: (path) => !/\.tsbuildinfo$|\.((console|explorer|docs)-)?built$|contact-sheet$/.test(path),
    });
    cpSync('bin', join(stage, 'bin'), { recursive: true });
    for (const document of DOCUMENTS) cpSync(document, join(stage, document));
    cpSync('docs', join(stage, 'docs'), { recursive: true, filter: (path) => !path.endsWith('screenshots') });
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

if (import.meta.filename === process.argv[1]) pack();
