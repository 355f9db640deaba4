/**
 * Puts the modules of a build and their packages together, in place, into the two programs and the chunks that they
 * share. Loading 1,900 files takes half of the CPU time of a start, and the packages have ten times the size of what is
 * used of them. Stack traces still name the lines of src/.
 *
 * Usage: node tools/bundle.js DIRECTORY. The build is DIRECTORY/dist. Tests run it as a program, because rolldown is a
 * native module that checks the type of its options, and jest's own objects do not pass.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { build } from 'rolldown';
import { UNBUNDLED } from './unbundled.js';

const PROGRAMS = ['src/main', 'src/cli/main'];
const MODULE_DIRECTORY = /__directoryOf\("([^"]*)"\)/g;

/** Bundles `dist` into the directory `into`. Returns the directories of the packages that are in the bundle. */
export async function bundle(dist, into) {
  const { output } = await build({
    input: Object.fromEntries(PROGRAMS.map((program) => [program, join(dist, `${program}.js`)])),
    output: {
      dir: into,
      format: 'esm',
      chunkFileNames: 'chunks/[name]-[hash].js',
      sourcemap: true,
      sourcemapPathTransform: (path) => path.replace(/^.*(?=node_modules[\\/])/, ''),
    },
    platform: 'node',
    external: UNBUNDLED,
    // As with the modules one by one, nothing is left out.
    treeshake: false,
    logLevel: 'silent',
    plugins: [compiledModules(dist)],
  });
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
  return [...new Set(modules.map(packageOf).filter((found) => found !== undefined))];
}

/** Reads what the compiler made, with its source maps, and keeps the paths by which modules find files beside them. */
const compiledModules = (dist) => ({
  name: 'compiled modules',
  load(id) {
    const map = `${id}.map`;
    if (!id.startsWith(dist) || !existsSync(map)) return null;
    return { code: readFileSync(id, 'utf8'), map: readFileSync(map, 'utf8') };
  },
  transform(code, id) {
    if (!id.startsWith(dist) || !code.includes('import.meta.dirname')) return null;
    const place = relative(dist, dirname(id)).split(sep).join('/');
    return code.replaceAll('import.meta.dirname', `__directoryOf("${place}")`);
  },
  renderChunk(code, { fileName }) {
    const up = posix.relative(posix.dirname(fileName), '.');
    return code.replaceAll(
      MODULE_DIRECTORY,
      (_, place) => `process.getBuiltinModule("node:path").join(import.meta.dirname, "${up}", "${place}")`,
    );
  },
});

/** Returns the directory of the package that a module belongs to, or undefined for the gateway's own. */
export function packageOf(id) {
  return /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id.replace(/^\0+/, ''))?.[1];
}

/** Writes the licences of the packages in the bundle, as they ask for. */
export function writeLicences(packages, into) {
  const texts = packages.toSorted().map((place) => {
    const { name, version, license } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'));
    const files = readdirSync(place).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
    const lines = files.map((file) => readFileSync(join(place, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, ...lines].join('\n\n');
  });
  writeFileSync(into, `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
}

if (import.meta.filename === process.argv[1]) {
  const dist = join(process.argv[2], 'dist');
  await bundle(dist, dist);
}
