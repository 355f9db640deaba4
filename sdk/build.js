/**
 * Builds the TypeScript SDK into sdk/typescript/dist. With `--pack` it instead makes an archive for `npm install`, in
 * the given folder or in sdk/typescript. Prints the path of the result.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const PACKAGE = join(ROOT, 'sdk/typescript');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');
const SOURCE = ['-p', join(PACKAGE, 'tsconfig.json'), '--noEmit', 'false', '--rootDir', join(PACKAGE, 'src')];
const FORMATS = {
  esm: [],
  cjs: ['--module', 'commonjs', '--moduleResolution', 'bundler', '--verbatimModuleSyntax', 'false'],
};

/** Empties the folder `dist` and compiles the SDK into it. */
function build(dist) {
  rmSync(dist, { recursive: true, force: true });
  for (const [format, options] of Object.entries(FORMATS)) {
    const folder = join(dist, format);
    const args = [TSC, ...SOURCE, '--declaration', '--outDir', folder, ...options];
    execFileSync(process.execPath, args, { stdio: 'inherit' });
    for (const file of readdirSync(folder, { recursive: true })) {
      if (file.endsWith('.d.ts')) nameBuiltFiles(join(folder, file));
    }
  }
  // The command-line program needs only the ECMAScript module build, so the CommonJS copy is removed.
  rmSync(join(dist, 'cjs/cli'), { recursive: true });
  writeFileSync(join(dist, 'cjs/package.json'), '{ "type": "commonjs" }\n');
  return dist;
}

/**
 * In declaration files the compiler keeps imports of `./x.ts`. Only `x.js` and `x.d.ts` are published, so the imports
 * are renamed to `./x.js`.
 */
function nameBuiltFiles(file) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replaceAll(/(from |import\()'(\.[^']*)\.ts'/g, "$1'$2.js'"));
}

/** Packs in a temporary folder, so that several packs can run at the same time. */
function pack(folder) {
  const staging = mkdtempSync(join(tmpdir(), 'sdk-pack-'));
  try {
    build(join(staging, 'dist'));
    for (const file of ['package.json', 'README.md']) copyFileSync(join(PACKAGE, file), join(staging, file));
    copyFileSync(join(ROOT, 'LICENSE'), join(staging, 'LICENSE'));
    const args = ['pack', '--json', '--pack-destination', folder];
    const [made] = JSON.parse(execFileSync('npm', args, { cwd: staging, encoding: 'utf8' }));
    return join(folder, made.filename);
  } finally {
    rmSync(staging, { recursive: true });
  }
}

const [action, folder = PACKAGE] = process.argv.slice(2);
console.log(action === '--pack' ? pack(resolve(folder)) : build(join(PACKAGE, 'dist')));
