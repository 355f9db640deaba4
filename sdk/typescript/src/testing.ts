/** Starts a real gateway for the tests of programs that use one. For Node, Bun and Deno on a machine of one's own. */
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
   * The folder of the gateway. When absent, that which MESSAGING_GATEWAY_DIR names, or the package `messaging-gateway`
   * that is installed beside yours.
   */
  readonly directory?: string | undefined;
  /** Settings of the gateway, such as `SERVICE_NAME`. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds that the start may take; 60,000 when absent. */
  readonly startTimeoutMs?: number | undefined;
}

export interface TestGateway {
  /** Without `/api/v1`. */
  readonly url: string;
  /** A production key with FULL_ACCESS, of an account with 100,000 UGX; the carriers are simulated. */
  readonly apiKey: string;
  readonly sandboxKey: string;
  /** A client with the production key. */
  readonly gateway: Gateway;
  /** A client with the sandbox key. */
  readonly sandbox: Gateway;
  /** Ends it, with all that it stored. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
/** Of this process's environment nothing else goes on: a database or a carrier of the program under test must not. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'APPDATA', 'LOCALAPPDATA', 'LANG'];
/** Runs the gateway until this process closes the pipe, which a kill -9 does, too. */
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
 * A gateway of its own, with PostgreSQL and simulated carriers, in a folder that goes when it stops. Throws when there
 * is no gateway, or when it does not start; the error has what it wrote.
 */
export async function startTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const directory = options.directory ?? process.env.MESSAGING_GATEWAY_DIR ?? installedGateway();
  const node = nodeOf(directory);
  const builder = join(directory, 'tools/build-when-old.js');
  const inherited = Object.fromEntries(INHERITED.flatMap((name) => pair(name, process.env[name])));
  if (existsSync(builder)) execFileSync(node, [builder, 'server'], { cwd: directory, env: inherited });
  const home = await mkdtemp(join(tmpdir(), 'test-gateway-'));
  // Under root another user runs PostgreSQL, and must be able to enter.
  await chmod(home, 0o755);
  // The gateway reads `.env` from where it runs.
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

/** The Node that the gateway brings along, where npm would find it, or this one. */
function nodeOf(directory: string): string {
  for (let at = directory; ; at = dirname(at)) {
    const found = join(at, 'node_modules/.bin/node');
    if (existsSync(found)) return found;
    if (at === dirname(at)) return process.execPath;
  }
}

/** Resolves with what the first start shows once. */
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
