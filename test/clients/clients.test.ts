/** Clients that others generate from schema/openapi.json, checks of the document, and a proxy that checks answers. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { readRecordedAnswers } from '../support/recorded-answers.ts';

const ROOT = join(import.meta.dirname, '../..');
const DOCUMENT = join(ROOT, 'schema/openapi.json');
const TOOLS = join(import.meta.dirname, 'node_modules');
const run = promisify(execFile);
const tool = (name: string) => join(TOOLS, '.bin', name);

/** What a generator is called with, and a program that sends with its client and prints the status. */
const GENERATORS = {
  'openapi-typescript': {
    generate: [tool('openapi-typescript'), DOCUMENT, '-o', 'api.ts'],
    program: `
      import createClient from 'openapi-fetch';
      import type { paths } from './api.ts';
      const client = createClient<paths>({ baseUrl: process.env.API ?? '', headers: { 'X-Api-Key': process.env.KEY ?? '' } });
      const { data, error } = await client.POST('/developers/sms', { body: { to: '+256700001000', message: 'Hello' } });
      console.log(data?.status ?? error);`,
  },
  'hey-api': {
    generate: [tool('openapi-ts'), '-i', DOCUMENT, '-o', 'api', '--no-log-file'],
    program: `
      import { client } from './api/client.gen.ts';
      import { postSms } from './api/sdk.gen.ts';
      client.setConfig({ baseUrl: process.env.API ?? '', headers: { 'X-Api-Key': process.env.KEY ?? '' } });
      const { data, error } = await postSms({ body: { to: '+256700001000', message: 'Hello' } });
      console.log(data?.status ?? error);`,
  },
  'swagger-typescript-api': {
    generate: [tool('swagger-typescript-api'), 'generate', '-p', DOCUMENT, '-o', '.', '-n', 'api.ts'],
    program: `
      import { Api } from './api.ts';
      const api = new Api({ baseUrl: process.env.API ?? '', baseApiParams: { headers: { 'X-Api-Key': process.env.KEY ?? '' } } });
      const { data } = await api.developers.postSms({ to: '+256700001000', message: 'Hello' });
      console.log(data.status);`,
  },
} as const;

describe('the OpenAPI document in the tools of others', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let place: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    place = await mkdtemp(join(tmpdir(), 'generated-clients-'));
  });
  afterAll(async () => {
    await gateway?.stop();
    await rm(place, { recursive: true, force: true });
  });

  it.each(Object.entries(GENERATORS))(
    '%s makes a client that compiles and sends',
    async (name, { generate, program }) => {
      const cwd = await mkdtemp(join(place, `${name}-`));
      await symlink(TOOLS, join(cwd, 'node_modules'), 'junction');
      await writeFile(join(cwd, 'package.json'), '{"type":"module"}');
      const [command = '', ...args] = generate;
      await run(process.execPath, [command, ...args], { cwd });
      await writeFile(join(cwd, 'program.ts'), program);
      const options = [
        '--strict',
        '--target',
        'es2022',
        '--module',
        'nodenext',
        '--rewriteRelativeImportExtensions',
      ];
      await run(
        process.execPath,
        [join(TOOLS, 'typescript/bin/tsc'), ...options, '--outDir', 'out', 'program.ts'],
        { cwd },
      );
      const env = { API: `${gateway.url}/api/v1`, KEY: account.key };
      const { stdout } = await run(process.execPath, ['out/program.js'], { cwd, env });
      expect(stdout).toBe('pending\n');
    },
  );

  it('has nothing that Spectral or Redocly warns of', async () => {
    const rules = join(place, 'spectral.yaml');
    await writeFile(rules, 'extends: ["spectral:oas"]\n');
    const spectral = [tool('spectral'), 'lint', DOCUMENT, '--ruleset', rules, '--fail-severity', 'hint'];
    expect((await run(process.execPath, spectral)).stdout).toContain('No results');
    const redocly = [join(ROOT, 'node_modules/.bin/redocly'), 'lint', 'schema/openapi.json'];
    const { stderr } = await run(process.execPath, redocly, { cwd: ROOT });
    expect(stderr).toContain('Your API description is valid');
    expect(stderr).not.toMatch(/warning/i);
  });

  it('is kept, as Prism sees it, by every answer to the examples of the document', async () => {
    await using prism = await startPrism(`${gateway.url}/api/v1`, ['--errors']);
    const faults: string[] = [];
    for (const { method, path, body } of await exampleRequests()) {
      const response = await fetch(`${prism.url}${path}`, {
        method,
        headers: { 'X-Api-Key': account.key, ...(body ? { 'Content-Type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const text = await response.text();
      if (text.includes('stoplight.io')) faults.push(`${method} ${path}: ${text}`);
    }
    expect(faults).toEqual([]);
  });

  it(
    'is kept, as Prism sees it, by every answer of the contract suite',
    async () => {
      const file = join(place, 'answers.jsonl');
      const suite = ['test', '--', '--selectProjects', 'all', '--', 'test/contract'];
      await run('npm', suite, {
        cwd: ROOT,
        env: { ...process.env, RECORD_ANSWERS: file },
        maxBuffer: 64 * 1024 ** 2,
      });
      const answers = readRecordedAnswers(file);
      expect(answers.length).toBeGreaterThan(2_000);
      // Stands where the gateway was, and answers as it did. So Prism cannot disturb the tests.
      const replay = createServer((request, response) => {
        const { status, headers, text } = answers[Number(request.headers['x-replay'])]!;
        const kept = Object.entries(headers).filter(
          ([name]) =>
            !/^(content-length|content-encoding|transfer-encoding|connection|keep-alive)$/.test(name),
        );
        response.writeHead(status, Object.fromEntries(kept)).end(text);
      }).listen(0, '127.0.0.1');
      await once(replay, 'listening');
      const { port } = replay.address() as AddressInfo;
      await using prism = await startPrism(`http://127.0.0.1:${port}`, []);
      const faults = new Set<string>();
      const unanswered: string[] = [];
      let judged = 0;
      for (const [index, { method, path, requestBody, status }] of answers.entries()) {
        // Prism ends when a path cannot be decoded.
        if (!isDecodable(path)) continue;
        const response = await fetch(`${prism.url}${path}`, {
          method,
          headers: { 'X-Api-Key': 'key', 'X-Replay': String(index), 'Content-Type': 'application/json' },
          ...(requestBody === null || /^(GET|HEAD)$/.test(method) ? {} : { body: readableBody(requestBody) }),
          signal: AbortSignal.timeout(PRISM_MS),
        }).catch((error: unknown) => void unanswered.push(`${method} ${path} ${status}: ${error}`));
        if (!response) continue;
        const text = await response.text();
        // Tests also ask for paths that do not exist.
        if (text.includes('#NO_PATH_MATCHED_ERROR') || text.includes('#NO_METHOD_MATCHED_ERROR')) continue;
        if (response.status !== status)
          faults.add(`${method} ${path}: ${status} became ${response.status}: ${text}`);
        judged += 1;
        const violations = JSON.parse(response.headers.get('sl-violations') ?? '[]') as Violation[];
        for (const { location, message } of violations)
          if (location[0] === 'response')
            faults.add(`${method} ${path} ${status} ${location.join('.')}: ${message}`);
      }
      replay.close();
      expect([...faults, ...unanswered]).toEqual([]);
      expect(judged).toBeGreaterThan(answers.length * 0.99);
    },
    30 * 60_000,
  );
});

const isDecodable = (path: string) => !/%(?![0-9A-Fa-f]{2})/.test(path);

/**
 * Returns the body of a request, or an empty object for a body that Prism does not answer: one that is not JSON, or is too
 * large. Only the answers are judged, and those are replayed.
 */
function readableBody(body: string): string {
  if (body.length > PRISM_BODY_MAX) return '{}';
  try {
    JSON.parse(body);
    return body;
  } catch {
    return '{}';
  }
}
const PRISM_BODY_MAX = 90_000;

/** How long Prism may take for an answer, in ms. */
const PRISM_MS = 20_000;

/** A difference from the document, as Prism reports it. */
interface Violation {
  readonly location: readonly string[];
  readonly message: string;
}

/** Starts Prism as a proxy that compares requests to `upstream` and its answers with the document. */
async function startPrism(
  upstream: string,
  options: readonly string[],
): Promise<{ readonly url: string } & AsyncDisposable> {
  const port = await freePort();
  const prism = spawn(
    process.execPath,
    [tool('prism'), 'proxy', DOCUMENT, upstream, '--port', String(port), ...options],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const stop = async () => {
    prism.kill();
    if (prism.exitCode === null && prism.signalCode === null) await once(prism, 'exit');
  };
  let printed = '';
  for (const stream of [prism.stdout, prism.stderr])
    stream.on('data', (piece) => {
      printed = `${printed}${String(piece)}`.slice(-10_000);
    });
  try {
    await eventually(() => printed.includes('Prism is listening'));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: stop };
}

/** The examples of all operations. Where a path names something, there is nothing of that name: an error is an answer too. */
async function exampleRequests(): Promise<{ method: string; path: string; body: unknown }[]> {
  const { paths } = JSON.parse(await readFile(DOCUMENT, 'utf8')) as {
    paths: Record<
      string,
      Record<string, { operationId?: string; requestBody?: Body; parameters?: Parameter[] }>
    >;
  };
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { operationId }]) => operationId !== undefined)
      .flatMap(([method, { requestBody, parameters = [] }]) => {
        const needed = parameters.filter((each) => each.in === 'query' && each.required);
        const query = needed.map(({ name }) => `${name}=%2B256700001000`).join('&');
        const filled = path
          .replaceAll('{keyId}', '0123456789abcdef')
          .replaceAll(/\{\w+\}/g, '01939f5e-7a00-7000-8000-000000000001');
        const examples = Object.values(requestBody?.content['application/json'].examples ?? {});
        const bodies = requestBody ? examples.map(({ value }) => value) : [undefined];
        return bodies.map((body) => ({
          method: method.toUpperCase(),
          path: query === '' ? filled : `${filled}?${query}`,
          body,
        }));
      }),
  );
}
interface Body {
  readonly content: {
    readonly 'application/json': { readonly examples?: Record<string, { value: unknown }> };
  };
}
interface Parameter {
  readonly in?: string;
  readonly name: string;
  readonly required?: boolean;
}
