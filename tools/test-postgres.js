/**
 * Runs the integration and contract suites on each supported version of PostgreSQL, one after the other, and prints a
 * table. Numbers among the arguments choose versions. All other arguments, such as paths of tests, are passed to jest.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const VERSIONS = ['14', '15', '16', '17', '18'];
const given = process.argv.slice(2);
const isVersion = (argument) => /^\d+$/.test(argument);
const chosen = given.filter(isVersion);
const unknown = chosen.filter((version) => !VERSIONS.includes(version));
if (unknown.length > 0) {
  console.error(`There is no PostgreSQL ${unknown.join(', ')} here, only ${VERSIONS.join(', ')}.`);
  process.exit(1);
}
const rest = given.filter((argument) => !isVersion(argument));
const tests = rest.some((argument) => !argument.startsWith('-'))
  ? rest
  : ['test/integration', 'test/contract', ...rest];

const directory = mkdtempSync(join(tmpdir(), 'test-postgres-'));
const rows = (chosen.length > 0 ? chosen : VERSIONS).map((version) => {
  const file = join(directory, `${version}.json`);
  const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const { status } = spawnSync(
    process.execPath,
    [...jest, 'node_modules/jest/bin/jest.js', ...tests, '--json', `--outputFile=${file}`],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, TEST_POSTGRES: version, TEST_SET: 'all' },
    },
  );
  return { version, isOk: status === 0, ...resultsIn(file) };
});
rmSync(directory, { recursive: true });
console.log('\nPostgreSQL  passed  failed');
for (const { version, passed, failed, isOk } of rows) {
  const note = isOk || failed > 0 ? '' : '  did not run to its end';
  console.log(`${version.padEnd(10)}  ${String(passed).padStart(6)}  ${String(failed).padStart(6)}${note}`);
}
process.exit(rows.every(({ isOk }) => isOk) ? 0 : 1);

/** Returns the numbers of passed and failed tests. A suite that could not be loaded counts as a failed test. */
function resultsIn(file) {
  try {
    const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites } = JSON.parse(
      readFileSync(file, 'utf8'),
    );
    return { passed: numPassedTests, failed: numFailedTests + numRuntimeErrorTestSuites };
  } catch {
    return { passed: 0, failed: 0 };
  }
}
