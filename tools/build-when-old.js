/**
 * Builds when dist is missing or older than anything it is made from: the compiler takes a second or more to find
 * that there is nothing to do, this a few milliseconds. A folder's own time tells of files that went.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';

const SOURCES = ['src', 'migrations', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
/** Written after a build without a fault, so that one with a fault is not taken for done. */
const BUILT = 'dist/.built';

const changedAt = (path) => {
  const stat = statSync(path);
  const inside = stat.isDirectory() ? readdirSync(path).map((name) => changedAt(`${path}/${name}`)) : [];
  return Math.max(stat.mtimeMs, ...inside);
};
const builtAt = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (SOURCES.some((source) => changedAt(source) >= builtAt)) {
  try {
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
      stdio: 'inherit',
    });
    writeFileSync(BUILT, '');
  } catch (error) {
    // The compiler has said what is wrong.
    process.exit(error.status ?? 1);
  }
}
