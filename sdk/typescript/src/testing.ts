/** Starts a real gateway for the tests of a program that uses it. Works in Node, Bun and Deno on a local machine. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Gateway } from './gateway.ts';

export interface TestGatewayOptions {
  /**
   * Folder of the gateway. Default: the folder in MESSAGING_GATEWAY_DIR, or the installed package `messaging-gateway`.
   */
  readonly directory?: string | undefined;
  /** Environment variables for the gateway, such as `SERVICE_NAME`. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Time limit of the start in milliseconds. Default: 60,000. */
  readonly startTimeoutMs?: number | undefined;
}

export interface TestGateway {
  /** URL of the gateway, without `/api/v1`. */
  readonly url: string;
  /** A production API key with FULL_ACCESS. Its account has 100,000 UGX, and the carriers are simulated. */
  readonly apiKey: string;
  readonly sandboxKey: string;
  /** A client with the production API key. */
  readonly gateway: Gateway;
  /** A client with the sandbox API key. */
  readonly sandbox: Gateway;
  /** Stops the gateway and deletes all its data. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
/**
 * The gateway gets only these environment variables of this process. Otherwise it could use the database or the carrier
 * of the program under test.
 */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'APPDATA', 'LOCALAPPDATA', 'LANG'];
/**
 * Runs the gateway until this process closes the pipe. The pipe is also closed if this process is killed with SIGKILL.
 */
const KEEPER = `
  const { spawn } = require('node:child_process');
  const gateway = spawn(process.execPath, process.argv.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] });
  gateway.on('exit', (code) => process.exit(code ?? 1));
  process.stdin.on('end', () => gateway.kill('SIGTERM')).resume();`;
const SETTINGS = {
  NODE_ENV: 'test',
  PORT: '0',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_MINUTE: '100000',
  RATE_LIMIT_WEBHOOKS_PER_MINUTE: '100000',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
};

/**
 * Starts a new gateway with PostgreSQL and simulated carriers. Its temporary folder is deleted when it stops. Throws if
 * the gateway is not installed or does not start. The error then contains the gateway's output.
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const directory = options.directory ?? process.env.MESSAGING_GATEWAY_DIR ?? installedGateway();
  const node = nodeOf(directory);
  const builder = join(directory, 'tools/build-when-old.js');
  const inherited = Object.fromEntries(INHERITED.flatMap((name) => pair(name, process.env[name])));
  if (existsSync(builder)) execFileSync(node, [builder, 'server'], { cwd: directory, env: inherited });
  const home = await mkdtemp(join(tmpdir(), 'test-gateway-'));
  // If this process runs as root, PostgreSQL runs as another user, who must be able to open the folder.
  await chmod(home, 0o755);
  // The gateway reads `.env` from its working directory. This new folder has none.
  const child = spawn(node, ['--eval', KEEPER, join(directory, 'dist/src/main.js')], {
    cwd: home,
    env: { ...inherited, ...SETTINGS, DATA_DIR: join(home, 'data'), ...options.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const stop = async () => {
    child.stdin.end();
    await closed;
    await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    return { ...(await started(child, options.startTimeoutMs ?? START_TIMEOUT_MS)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function pair(name: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[name, value]];
}

function installedGateway(): string {
  try {
    const from = createRequire(join(process.cwd(), 'package.json'));
    return dirname(from.resolve('messaging-gateway/package.json'));
  } catch {
    throw new Error(
      'There is no gateway to start: set MESSAGING_GATEWAY_DIR to its folder, or install the package messaging-gateway.',
    );
  }
}

/** Returns the Node.js binary in the gateway's node_modules, or else the one that runs this process. */
function nodeOf(directory: string): string {
  for (let at = directory; ; at = dirname(at)) {
    const found = join(at, 'node_modules/.bin/node');
    if (existsSync(found)) return found;
    if (at === dirname(at)) return process.execPath;
  }
}

/** Resolves to the URL and the API keys, which the gateway prints once at its first start. */
function started(child: ChildProcess, timeoutMs: number): Promise<Omit<TestGateway, 'stop'>> {
  return new Promise((resolve, reject) => {
    let written = '';
    const fail = (why: string) => {
      clearTimeout(timer);
      reject(new Error(`The gateway ${why}. It wrote:\n${written}`));
    };
    const timer = setTimeout(() => fail(`was not ready after ${timeoutMs} ms`), timeoutMs);
    child.on('error', (error) => fail(`could not be started: ${error.message}`));
    child.on('close', (code) => fail(`ended with ${code}`));
    const find = (pattern: RegExp) => pattern.exec(written)?.[1] ?? '';
    child.stderr?.on('data', (piece) => {
      written += piece;
    });
    child.stdout?.on('data', (piece) => {
      written += piece;
      const url = find(/^ready (\S+)/m);
      if (url === '') return;
      clearTimeout(timer);
      const apiKey = find(/production key\s+(msg_\S+)/);
      const sandboxKey = find(/sandbox key\s+(msg_\S+)/);
      if (apiKey === '') return fail('has an account already: give it a database of its own');
      const client = (key: string) => new Gateway({ apiKey: key, baseUrl: url });
      resolve({ url, apiKey, sandboxKey, gateway: client(apiKey), sandbox: client(sandboxKey) });
    });
  });
}
