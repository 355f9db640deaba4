/**
 * `npm run test:cells-contract [-- PATTERN…]`: runs the tests of the contract with two cells behind Debian's HAProxy
 * (test/support/cell-proxy.ts), and names those that fail. Fails itself if one fails without a reason that is known.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** Tests that cannot pass through the proxy, by a part of their file and name, under the reason. */
const KNOWN: Readonly<Record<string, readonly RegExp[]>> = {
  'The test chooses the id of a key, whose slot belongs to the other cell: such a key is listed in the directory.':
    [/authentication .*VEC-KEY-01/],
  'The gateway sees the proxy instead of the client, and trusts it.': [
    /authentication .*IPv4 rules match IPv4 clients/,
    /authentication .*are ignored from untrusted peers/,
  ],
};

interface Results {
  readonly numPassedTests: number;
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const folder = await mkdtemp(join(tmpdir(), 'gateway-contract-'));
try {
  const results = await run(join(folder, 'results.json'), process.argv.slice(2));
  const failed = results.testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(join(ROOT, 'test/contract'), name).replace(/\.test\.ts$/, '');
    const tests = assertionResults.filter((each) => each.status === 'failed');
    // A file can fail before its first test.
    const names =
      tests.length === 0 && status === 'failed' ? ['(the file)'] : tests.map((each) => each.fullName);
    return names.map((each) => `${file} ${each}`);
  });
  const reasonOf = (test: string) =>
    Object.entries(KNOWN).find(([, patterns]) => patterns.some((pattern) => pattern.test(test)))?.[0];
  const byReason = Map.groupBy(failed, reasonOf);
  for (const [reason, tests] of byReason)
    console.log(
      `\n${reason ?? 'FAILED WITHOUT A KNOWN REASON'}\n${tests.map((test) => `  ${test}`).join('\n')}`,
    );
  console.log(
    `\n${results.numPassedTests} of ${results.numTotalTests} tests in ${results.testResults.length} files pass behind HAProxy, ${failed.length} fail, of which ${failed.length - (byReason.get(undefined)?.length ?? 0)} for the reasons above.`,
  );
  process.exitCode = byReason.has(undefined) ? 1 : 0;
} finally {
  await rm(folder, { recursive: true });
}

/** Runs jest. Its own exit code says only whether any test failed. */
async function run(file: string, patterns: readonly string[]): Promise<Results> {
  const args = [
    ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    ...[join(ROOT, 'node_modules/jest/bin/jest.js'), '--config', 'test/cells/contract.jest.config.js'],
    ...['--forceExit', '--json', '--outputFile', file],
    ...(patterns.length > 0 ? ['--testPathPatterns', ...patterns] : []),
  ];
  const jest = spawn(process.execPath, args, {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, TEST_SET: 'all' },
  });
  await once(jest, 'close');
  return JSON.parse(await readFile(file, 'utf8')) as Results;
}
