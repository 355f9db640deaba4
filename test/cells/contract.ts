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
  'A key that does not exist goes to the cell of its slot, and the test looks at the other one.': [
    /health .*log lines of a request/,
    /rate-limits .*share a budget for each address/,
    /rate-limits .*a request gets 503 with Retry-After and all headers/,
    /security-events .*an unknown key is counted/,
  ],
  'The gateway sees the proxy instead of the client, and trusts it.': [
    /authentication .*IPv4 rules match IPv4 clients/,
    /authentication .*are ignored from untrusted peers/,
    /corpus-inputs .*IN-XFF-06 /,
  ],
  'The test leaves out TRUST_PROXY, which every gateway has behind the proxy.': [
    /sign-in-countries .*not from a file that is missing/,
  ],
  'The test sets PUBLIC_URL to the address of its gateway, which is not that of the proxy.': [
    /account-single-sign-on .*another provider than the one where the sign-in was begun/,
  ],
  'HAProxy refuses a malformed or too large request itself, so the answer has not the form of the gateway.': [
    /corpus-inputs .*IN-HTTP-(03|05|07|09|11|13|15|17|23) /,
    /corpus-inputs .*IN-AUTH-18 /,
    /errors .*of headers is limited: 10 kB are read, 40 kB are 431/,
    /errors .*an absolute URL in the request line/,
    /rate-limits .*are in the (400|431|404) of a malformed request/,
    /safety-headers .*malformed requests/,
  ],
  'HAProxy writes the names of headers in small letters.': [
    /errors .*HTTP\/1\.1 without a Host header is refused/,
  ],
  'HAProxy sends the requests of one connection one after another, so they do not wait at the gateway.': [
    /graphql-http .*one client's waiting ones could fill the memory/,
  ],
  'HAProxy asks for the health of the gateway, which runs statements that the test counts.': [
    /graphql-lists .*(as many SQL statements for one message as for twenty|in a few statements)/,
  ],
  'Through the proxy, the metrics of a gateway without METRICS_TOKEN are refused, as to all who are not on loopback.':
    [
      /graphql-providers .*from a process without carriers of its own/,
      /graphql-providers .*two routes to one SMSC, in metrics/,
      /health .*metrics without METRICS_TOKEN/,
      /metrics .*moves with traffic/,
      /quiet-hours .*is held by the worker, and can be canceled/,
      /returned-mails .*that comes twice changes nothing/,
      /returned-mails .*a delay, a success or an automatic reply/,
      /returned-mails .*to the common address counts/,
      /returned-mails .*relays nothing, and takes no address/,
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
