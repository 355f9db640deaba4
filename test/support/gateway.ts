import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compose } from '../../src/compose.ts';
import { parseConfig } from '../../src/config/config.ts';
import { createPasswordHasher } from '../../src/crypto/password-hasher.ts';
import type { SystemCaller } from '../../src/domain/caller.ts';
import { startHttpServer } from '../../src/http/http-server.ts';
import { openApiDocument } from '../../src/rest/openapi/document.ts';
import { cellFront } from './cell-proxy.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from './database.ts';
import { createDocumentCheck, type DocumentCheck } from './documented.ts';
import { recordAnswer } from './recorded-answers.ts';
import { TEST_VAPID } from './vapid.ts';

const TEST_CALLER: SystemCaller = { kind: 'system', name: 'test' };
const TEST_MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

const isCsv = (response: Response) => response.headers.get('content-type')?.startsWith('text/csv') === true;

/** Hashes the passwords of all test gateways, at the least cost. Each test account has one. */
export const testPasswords = createPasswordHasher({ memory: 8, passes: 1 });

export interface TestAccount {
  readonly accountId: string;
  readonly email: string;
  readonly password: string;
  /** A production API key with FULL_ACCESS. */
  readonly key: string;
  readonly sandboxKey: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON body. It is `any` so that tests can read every member. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer holds
  readonly body: any;
  readonly text: string;
}

export interface TestGateway extends AsyncDisposable {
  /** The base URL, without `/api/v1`. */
  readonly url: string;
  /** The base URL of this process, which differs from `url` if a proxy is in front. */
  readonly processUrl: string;
  readonly database: TestDatabase;
  /** The gateway's DATA_DIR. It is a new directory if `environment` does not name one. */
  readonly dataDir: string;
  readonly parts: Awaited<ReturnType<typeof compose>>;
  /** The port to which mails come back, with BOUNCE_DOMAIN and BOUNCE_PORT. 0 without. */
  readonly bouncePort: number;
  /** Creates an account with FULL_ACCESS keys. Its balance in UGX is `balance`. Default: 100,000. */
  createAccount(balance?: number): Promise<TestAccount>;
  /** Creates a further API key of an account. */
  createKey(
    accountId: string,
    options: { scopes?: string[]; environment?: string; enableHmac?: boolean; ipAllowlist?: string[] },
  ): Promise<{ key: string; keyId: string; signingSecret: string | null }>;
  /**
   * Sends a request to `/api/v1`. A `body` that is not a string is sent as JSON. Throws if the answer differs from its
   * documentation.
   */
  call(
    method: string,
    path: string,
    options?: { key?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
  stop(): Promise<void>;
}

/** Shared by all gateways of a test file, because all have the same OpenAPI document. */
let documentCheck: DocumentCheck | undefined;

/**
 * Starts a whole gateway in this process with real HTTP and running workers. It uses `database`, or else a clone of the
 * template that `stop` drops. `environment` holds environment variables (docs/operations/environment.md). Webhooks to
 * loopback are allowed.
 */
export async function startTestGateway(
  environment: Record<string, string> = {},
  shared?: TestDatabase,
): Promise<TestGateway> {
  const database = shared ?? (await createTestDatabase());
  const ownDirectory = environment.DATA_DIR ? undefined : await mkdtemp(join(tmpdir(), 'gateway-test-'));
  const dataDir = ownDirectory ?? environment.DATA_DIR ?? '';
  const front = await cellFront(environment);
  const config = parseConfig({
    DATA_DIR: dataDir,
    PORT: '0',
    DATABASE_URL: database.url,
    // A session costs the test server more than what most tests do with it.
    DATABASE_POOL_SIZE: '5',
    MASTER_KEY: TEST_MASTER_KEY,
    // Without these keys, the gateway would create a key pair and write it into the working directory.
    VAPID_PUBLIC_KEY: TEST_VAPID.publicKey,
    VAPID_PRIVATE_KEY: TEST_VAPID.privateKey,
    NODE_ENV: 'test',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    // Otherwise marketing to Uganda would wait or not, depending on the time of day at which a test runs.
    QUIET_HOURS: 'none',
    RATE_LIMIT_PER_MINUTE: '100000',
    RATE_LIMIT_WEBHOOKS_PER_MINUTE: '1000',
    RATE_LIMIT_SESSION_PER_MINUTE: '100000',
    RATE_LIMIT_POINTS_PER_MINUTE: '100000000',
    LOG_LEVEL: 'silent',
    ...environment,
    ...front?.environment,
  });
  const parts = await compose(config, silentLogger, { passwords: testPasswords });
  // Requests are followed as in a gateway that logs, although these tests log nothing.
  const served = { ...parts, followsRequests: true };
  const http = config.isApi ? await startHttpServer(served, config, silentLogger) : undefined;
  const workers = await parts.startWorking();
  const bounces = await parts.startBounceListener();
  const proxy = http && (await front?.start());
  const url = proxy?.url ?? http?.url ?? '';
  let isStopped = false;
  let accounts = 0;

  const gateway: TestGateway = {
    url,
    processUrl: front?.processUrl ?? url,
    database,
    dataDir,
    parts,
    bouncePort: bounces?.port ?? 0,
    async createAccount(balance = 100_000) {
      accounts += 1;
      const email = `owner${accounts}-${Date.now()}@test.example`;
      const { account, owner } = await parts.operations.accounts.create.run(TEST_CALLER, {
        email,
        currency: 'UGX',
        balance,
      });
      const { key } = await gateway.createKey(account.id, {});
      const sandbox = await gateway.createKey(account.id, { environment: 'sandbox' });
      return { accountId: account.id, email, password: owner.password, key, sandboxKey: sandbox.key };
    },
    async createKey(accountId, { scopes = ['FULL_ACCESS'], environment = 'production', ...rest }) {
      const created = await parts.operations.apiKeys.create.run(TEST_CALLER, {
        accountId,
        name: 'test',
        scopes,
        environment,
        ...rest,
      });
      return { key: created.key, keyId: created.apiKey.keyId, signingSecret: created.signingSecret };
    },
    async call(method, path, { key, body, headers = {} } = {}) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          ...(key === undefined ? {} : { 'X-Api-Key': key }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const answer = {
        status: response.status,
        headers: response.headers,
        body: isCsv(response) ? text : text ? JSON.parse(text) : undefined,
        text,
      };
      documentCheck ??= createDocumentCheck(openApiDocument(parts.operations));
      recordAnswer({ method, path, body, answer });
      const faults = documentCheck.faultsOf(method, path, answer);
      if (faults.length > 0)
        throw new Error(`${method} ${path} is not as documented: ${faults.join('; ')}\n${text}`);
      return answer;
    },
    async stop() {
      if (isStopped) return;
      isStopped = true;
      await proxy?.[Symbol.asyncDispose]();
      await http?.close(5_000);
      await bounces?.close();
      await workers.stop(5_000);
      await parts.close();
      if (!shared) await database.drop();
      if (ownDirectory !== undefined) await rm(ownDirectory, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => gateway.stop(),
  };
  return gateway;
}
