import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTable } from '../../sdk/table.js';
import { createTestDatabase } from '../support/database.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { losesFirstAnswers, startHttpProxy } from '../support/http-proxy.ts';
import { hasPython, PYTHON_SDK, type Python, pythonEnvironment, startPython } from '../support/python.ts';
import { buildWorkplace } from '../support/server-process.ts';

const CORPUS = join(import.meta.dirname, '../fixtures/corpus');
if (!hasPython) console.warn('There is no Python 3.9 or newer here: the Python SDK is not tested.');

(hasPython ? describe : describe.skip)('the Python SDK', () => {
  let server: TestGateway;
  let home: string;
  let running: Python;
  /** Runs a program. Returns its output of stdout and stderr together. */
  async function python(code: string, environment?: Record<string, string>): Promise<string> {
    const { stdout, stderr } = await running.run(code, environment);
    return stdout + stderr;
  }
  beforeAll(async () => {
    running = startPython();
    server = await startTestGateway();
    home = await mkdtemp(join(tmpdir(), 'python-sdk-'));
  });
  afterAll(async () => {
    await running?.stop();
    await server?.stop();
    if (home !== undefined) await rm(home, { recursive: true });
  });

  it('passes its tests against a real gateway, with every operation [R19, R217, R227–R229]', async () => {
    const account = await server.createAccount();
    const poor = await server.createAccount(20);
    const bulk = await server.createAccount(1_000_000);
    const signed = await server.createKey(account.accountId, { enableHmac: true });
    const lossy = await startHttpProxy(server.url, losesFirstAnswers());
    const succeeded = join(home, 'succeeded.json');
    const variables = {
      GATEWAY_URL: server.url,
      LOSSY_URL: lossy.url,
      GATEWAY_API_KEY: account.key,
      SANDBOX_KEY: account.sandboxKey,
      SIGNED_KEY: signed.key,
      SIGNING_SECRET: signed.signingSecret ?? '',
      POOR_KEY: poor.key,
      BULK_KEY: bulk.key,
      CORPUS,
      SUCCEEDED: succeeded,
    };
    const { stderr: written } = await promisify(execFile)(
      'python3',
      ['-m', 'unittest', 'discover', '-s', 'tests'],
      {
        cwd: PYTHON_SDK,
        env: pythonEnvironment(variables),
        maxBuffer: 16 * 1024 * 1024,
      },
    );
    await lossy.stop();
    expect(written).toMatch(/^Ran \d+ tests in [\s\S]*^OK$/m);
    expect(lossy.lost).toBe(1_000);
    const requests: string[] = JSON.parse(await readFile(succeeded, 'utf8'));
    const missing = readTable()
      .resources.flatMap(({ operations }) => operations)
      .map(({ method, path }) => `${method} ${path}`)
      .filter((operation) => {
        const pattern = new RegExp(`^${operation.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
        return !requests.some((request) => pattern.test(request));
      });
    expect(missing).toEqual([]);
  });

  it('is written in the Python of 3.9, with the standard library alone', async () => {
    const program = `
import ast, pathlib, sys
for path in pathlib.Path("messaging_gateway").glob("*.py"):
    tree = ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 9))
    for node in ast.walk(tree):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module]
        for name in names:
            if name.split(".")[0] not in sys.stdlib_module_names:
                print(path, name)`;
    expect(await python(program)).toBe('');
  });

  it('has the version of its package', async () => {
    const printed = await python('import messaging_gateway; print(messaging_gateway.__version__)');
    const version = printed.trim();
    expect(await readFile(join(PYTHON_SDK, 'pyproject.toml'), 'utf8')).toContain(
      `\nversion = "${version}"\n`,
    );
  });

  it('starts a gateway for the tests of programs that use one', async () => {
    const workplace = await buildWorkplace();
    // The page about tests has the same with the embedded PostgreSQL (test/guides/samples.test.ts).
    const database = await createTestDatabase();
    const program = `
import os
from messaging_gateway.testing import start_test_gateway
given = {name: os.environ[name] for name in ("DATABASE_URL", "NODE_COMPILE_CACHE")}
with start_test_gateway(environment={"SERVICE_NAME": "ACME", **given}) as started:
    gateway = started.gateway
    sent = gateway.sms.send(to=gateway.testing.numbers.delivered, message="Hello")
    print(gateway.testing.settled(sent["id"])["status"])
try:
    start_test_gateway(environment={"PORT": "none", **given})
except RuntimeError as error:
    print("Cannot start" in str(error))`;
    const environment = {
      MESSAGING_GATEWAY_DIR: workplace.build,
      DATABASE_URL: database.url,
      NODE_COMPILE_CACHE: join(workplace.build, 'compiled'),
    };
    expect(await python(program, environment)).toBe('delivered\nTrue\n');
    await workplace.remove();
    await database.drop();
  });

  it('ends, with its page followed word for word, in a delivered message and a verified webhook', async () => {
    const page = await readFile(join(PYTHON_SDK, 'README.md'), 'utf8');
    const [send, receive] = [...page.matchAll(/^```python\n([\s\S]*?)^```/gm)].map(([, code]) => code ?? '');
    const { key } = await server.createAccount();
    const environment = { GATEWAY_URL: server.url, GATEWAY_API_KEY: key };
    const [first, second] = (await python(send ?? '', environment)).trim().split('\n');
    expect([first?.split(' ').slice(1).join(' '), second]).toEqual(['pending 30 UGX', 'delivered']);
    expect(await python(`${receive}\n${RECEIVED}`, { WEBHOOK_SECRET: 'whsec_x' })).toBe(
      'sms.sent m-1\n400\n',
    );
  });
});

/** Sends a genuine and a forged request to the receiver of the guide, a WSGI application. */
const RECEIVED = `
import io
from messaging_gateway import sign_webhook
body = b'{"event":"sms.sent","channel":"sms","messageId":"m-1","timestamp":"2026-12-01T09:30:00.000Z","data":{}}'
for secret in ("whsec_x", "whsec_other"):
    environ = {
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        "HTTP_X_SERVICE_SIGNATURE": sign_webhook(body, secret),
        "HTTP_X_SERVICE_DELIVERY": "d-1",
    }
    application(environ, lambda status, headers: status.startswith("200") or print(status.split()[0]))
`;
