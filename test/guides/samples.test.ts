/**
 * Runs every sample of the guides against a gateway. Only the quickstart's samples are run by
 * test/sdk/quickstart.test.ts.
 */
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { guide, guideNames, type Sample, samplesOf } from '../support/guide.ts';
import { hasPython, type Python, startPython } from '../support/python.ts';
import { type Consumer, installSdk } from '../support/sdk-package.ts';
import { buildWorkplace, type Workplace } from '../support/server-process.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const has = (program: string, argument = '--version') => spawnSync(program, [argument]).status === 0;
const hasShell = ['bash', 'curl', 'openssl'].every((program) =>
  has(program, program === 'openssl' ? 'version' : '--version'),
);
/** The samples in PHP need its extension for curl. */
const hasPhp = spawnSync('php', ['-r', 'curl_init();']).status === 0;
const STRICT = [
  ...['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext'],
  ...['--types', 'node'],
];
/**
 * True for the samples that verify a webhook without the SDK. test/contract/webhook-verification.test.ts runs these.
 */
const isByHand = ({ subheading }: Sample) => /^(TypeScript|Python|PHP|Go|Java)$/.test(subheading);

/** Name of the page about GraphQL, and the language of its document samples. */
const DOCUMENTS = 'graphql';

const pages = guideNames
  .filter((name) => name !== 'quickstart')
  .map((name) => ({ name, groups: samplesOf(guide(name)).filter(([first]) => first && !isByHand(first)) }));
const preludes = new Map(
  samplesOf(guide('index'))
    .flat()
    .map(({ language, code }) => [language, code]),
);

interface Expected {
  readonly sample: Sample;
  /** The block after the sample's group that shows the sample's output. */
  readonly output: Sample | undefined;
}
/**
 * Returns the samples of a language on a page, each with its expected output. A `json` block is the output of curl
 * only. A `text` block is the output in every language.
 */
function samplesIn(groups: readonly Sample[][], language: string): Expected[] {
  return groups.flatMap((group) => {
    const output = group.find(({ isOutput }) => isOutput);
    const sample = group.find((each) => each.language === language && !each.isOutput);
    const isItsOwn = output?.language === 'text' || language === 'sh';
    return sample ? [{ sample, output: isItsOwn ? output : undefined }] : [];
  });
}

interface Program {
  readonly file: string;
  readonly code: string;
  readonly output: Sample | undefined;
}
/** How the samples of a language become programs. A sample that does not match `client` begins with the prelude. */
const PROGRAMS = {
  ts: { client: /\bconst gateway =/, extension: 'ts', ending: 'export {};\n' },
  python: { client: /^gateway = /m, extension: 'py', ending: '' },
  php: { client: /^function gateway\(/m, extension: 'php', ending: '' },
} as const;
/** Returns the samples of a language on a page, each as a program of its own. */
function programsIn(page: (typeof pages)[number], language: keyof typeof PROGRAMS): Program[] {
  const { client, extension, ending } = PROGRAMS[language];
  return samplesIn(page.groups, language).map(({ sample, output }, index) => ({
    file: `${page.name}-${index}.${extension}`,
    code: `${client.test(sample.code) ? '' : preludes.get(language)}\n${sample.code}\n${ending}`,
    output,
  }));
}
/** Makes a warning of PHP, such as one about an unknown index, end the program. */
const WARNINGS_THROW = 'set_error_handler(fn ($level, $message) => throw new ErrorException($message));';
/** Matches samples that use what only the SDKs have. There is no SDK for PHP. */
const ONLY_IN_SDKS = /messaging-gateway-client\/testing|verifyWebhook/;

const REFERENCE = join(ROOT, 'dist/docs/api');
/** Returns the samples of a language in the API reference. */
const referenceSamples = (language: string) =>
  readdirSync(REFERENCE)
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => samplesOf(readFileSync(join(REFERENCE, name), 'utf8')).flat())
    .filter((sample) => sample.language === language)
    .map(({ code }) => code);
const REFERENCE_FILE = 'reference.ts';
/** Returns one program with all TypeScript samples of the API reference. It prints a line for each. */
function referenceProgram(): string {
  const program = referenceSamples('ts').map(
    (code) => `try {\n${code}console.log(answer === undefined ? 'nothing' : 'ok');
      } catch (error) { console.log(error instanceof GatewayError ? error.code : error); }\n`,
  );
  const imported = `import { GatewayError } from 'messaging-gateway-client';\n`;
  return imported + preludes.get('ts') + program.join('');
}

describe('the samples of the guides (R321)', () => {
  const typescriptFiles = Object.fromEntries(
    pages.flatMap((page) => programsIn(page, 'ts').map(({ file, code }) => [file, code])),
  );
  let server: TestGateway;
  let consumer: Consumer;
  let workplace: Workplace;
  let python: Python;
  beforeAll(async () => {
    workplace = await buildWorkplace();
    server = await startTestGateway();
    consumer = await installSdk();
    await consumer.link('typescript', '@types');
    await consumer.write({ ...typescriptFiles, [REFERENCE_FILE]: referenceProgram() });
    if (hasPython) python = startPython();
  });
  afterAll(async () => {
    await python?.stop();
    await server?.stop();
    await consumer?.remove();
    await workplace?.remove();
  });

  /**
   * Returns the settings that a reader of the guides has. Each page gets a new account, so that it starts with the same
   * balance.
   */
  async function settings() {
    const { key, email, password } = await server.createAccount();
    return {
      GATEWAY_URL: server.url,
      GATEWAY_API_KEY: key,
      GATEWAY_EMAIL: email,
      GATEWAY_PASSWORD: password,
      MESSAGING_GATEWAY_DIR: workplace.build,
      WEBHOOK_SECRET: 'whsec_test',
    };
  }
  const own = (code: string, { GATEWAY_URL, GATEWAY_API_KEY }: Record<string, string>) =>
    code.replaceAll('http://127.0.0.1:3000', GATEWAY_URL ?? '').replaceAll('msg_…', GATEWAY_API_KEY ?? '');

  it('are in a language that a test runs, or marked as output', () => {
    const others = pages.flatMap(({ name, groups }) =>
      groups
        .flat()
        .filter(({ language, isOutput }) => !isOutput && !['sh', 'ts', 'python', 'php'].includes(language))
        // test/contract/graphql-guide.test.ts runs the GraphQL documents of this page, and test/clients its clients.
        .filter(({ language }) => name !== DOCUMENTS || ![DOCUMENTS, 'js', 'json'].includes(language))
        .map(({ language }) => `${name}: ${language}`),
    );
    expect(others).toEqual([]);
  });

  it('are in PHP where they are in TypeScript, unless they use what only the SDKs have', () => {
    const without = pages.flatMap(({ name, groups }) =>
      groups
        .filter((group) => !group.some(({ language }) => language === 'php'))
        .flatMap((group) => group.filter(({ language }) => language === 'ts'))
        .filter(({ code }) => !ONLY_IN_SDKS.test(code))
        .map(({ code }) => `${name}: ${code}`),
    );
    expect(without).toEqual([]);
  });

  describe('in the API reference', () => {
    /**
     * Checks that each sample succeeded. Two failures are allowed: an id of a sample does not exist here, and the host
     * name of a webhook URL may not resolve.
     */
    function expectOutcomes(codes: readonly string[], outcomes: readonly string[]): void {
      expect(codes.length).toBeGreaterThan(40);
      const wrong = codes.flatMap((code, index) => {
        const outcome = outcomes[index] ?? 'not run';
        const isFine =
          /^(ok|20[0-2])$/.test(outcome) ||
          (/['"/](KEY_|DELIVERY_)?ID\b/.test(code) && /^(not_found|404)$/.test(outcome)) ||
          (code.includes('example.com/') && /^(invalid_webhook_url|400)$/.test(outcome));
        return isFine ? [] : [`${outcome}: ${code}`];
      });
      expect(wrong).toEqual([]);
    }

    (hasShell ? it : it.skip)('work in a shell', async () => {
      const environment = await settings();
      const codes = referenceSamples('sh');
      // Each sample adds its arguments as bash reads them. One process of curl then makes all requests in their order.
      const script = `
        all=(--fail-early)
        curl() { all+=(--next -s -o /dev/null -w '%{http_code}\\n' "$@"); }
        ${codes.join('')}
        command curl "\${all[@]}"`;
      const { PATH = '' } = process.env;
      const { stdout } = await run('bash', ['--norc', '-euc', script], { env: { PATH, ...environment } });
      expectOutcomes(codes, stdout.trim().split('\n'));
    });

    it('work in TypeScript', async () => {
      const printed = await consumer.runModule(REFERENCE_FILE, await settings());
      expectOutcomes(referenceSamples('ts'), printed.trim().split('\n'));
    });

    (hasPhp ? it : it.skip)('work in PHP', async () => {
      const codes = referenceSamples('php');
      const program = codes.map(
        (code) => `${code}echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), "\\n";\n`,
      );
      const { PATH = '' } = process.env;
      const { stdout } = await run('php', ['-r', program.join('')], { env: { PATH, ...(await settings()) } });
      expectOutcomes(codes, stdout.trim().split('\n'));
    });

    (hasPython ? it : it.skip)('work in Python', async () => {
      const codes = referenceSamples('python');
      const program = codes.map(
        (code) => `try:\n    ${code}    print("ok")\nexcept GatewayError as error:\n    print(error.code)\n`,
      );
      const imported = 'from messaging_gateway import GatewayError\n';
      const code = imported + preludes.get('python') + program.join('');
      const { stdout } = await python.run(code, await settings(), 'reference.py');
      expectOutcomes(codes, stdout.trim().split('\n'));
    });
  });

  it('are in PHP for each operation of the API reference', () => {
    expect(referenceSamples('php')).toHaveLength(referenceSamples('sh').length);
  });

  it('compile in TypeScript', async () => {
    const files = [...Object.keys(typescriptFiles), REFERENCE_FILE];
    expect(await consumer.run('tsc', [...STRICT, ...files])).toBe('');
  });

  for (const page of pages) {
    const { name, groups } = page;
    const shell = samplesIn(groups, 'sh');
    if (shell.length > 0)
      (hasShell ? it : it.skip)(`${name}: in a shell`, async () => {
        const environment = await settings();
        const place = join(consumer.path, `shell-${name}`);
        await mkdir(place);
        // All samples of a page run in one shell, because later samples use variables of earlier ones.
        const script = shell.map(({ sample }) => `${own(sample.code, environment)}\nprintf '\\n@@@\\n'\n`);
        const { PATH = '', HOME = '' } = process.env;
        const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script.join('')], {
          cwd: place,
          env: { PATH, HOME, ...environment },
        });
        const printed = stdout.split('\n@@@\n');
        shell.forEach(({ output }, index) => {
          if (output) expectOutput(output, printed[index] ?? '');
        });
      });

    const typescript = programsIn(page, 'ts');
    if (typescript.length > 0)
      it(`${name}: in TypeScript`, async () => {
        const environment = await settings();
        for (const { file, output } of typescript) {
          const printed = await consumer.runModule(file, environment);
          if (output) expectOutput(output, printed);
        }
      });

    const inPhp = programsIn(page, 'php');
    if (inPhp.length > 0)
      (hasPhp ? it : it.skip)(`${name}: in PHP`, async () => {
        const { PATH = '' } = process.env;
        const env = { PATH, ...(await settings()) };
        for (const { code, output } of inPhp) {
          const { stdout } = await run('php', ['-r', `${WARNINGS_THROW}\n${code}`], { env });
          if (output) expectOutput(output, stdout);
        }
      });

    const inPython = programsIn(page, 'python');
    if (inPython.length > 0)
      (hasPython ? it : it.skip)(`${name}: in Python`, async () => {
        const environment = await settings();
        for (const { file, code, output } of inPython) {
          const { stdout } = await python.run(code, environment, file);
          if (output) expectOutput(output, stdout);
        }
      });
  }
});

/** Checks a sample's output. In the expected output, `…` stands for any text, and in JSON for any string. */
function expectOutput(output: Sample, printed: string): void {
  if (output.language === 'json') {
    const answer = JSON.parse(printed);
    // The guides leave out what a GraphQL query costs.
    delete answer.extensions;
    expect(answer).toEqual(loosely(JSON.parse(output.code)));
  } else {
    const escaped = output.code.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
    expect(printed.trim()).toMatch(new RegExp(`^${escaped.replaceAll('…', '.+')}$`, 'i'));
  }
}

function loosely(value: unknown): unknown {
  if (value === '…') return expect.any(String);
  if (Array.isArray(value)) return value.map(loosely);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, loosely(each)]));
  }
  return value;
}
