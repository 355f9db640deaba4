import { errorLine } from './cli/output.ts';
import { compose, type Gateway } from './compose.ts';
import { type Config, ConfigError, loadConfig } from './config/config.ts';
import { describeHold } from './domain/recovery/hold.ts';
import { type HttpServer, startHttpServer } from './http/http-server.ts';
import { createMetrics } from './http/metrics.ts';
import { startProbeServer } from './http/probes.ts';
import { createLogger } from './start/logger.ts';
import { createQuickstart } from './start/quickstart.ts';
import { CLOSE_MS, DRAIN_MS } from './start/stop-times.ts';
import { isUnreachable } from './storage/postgres/faults.ts';

/** Time in ms for which requests over open connections are still answered after a signal (R521). */
const GRACE_MS = 1_000;

class Server {
  readonly #config: Config;
  readonly #logger: ReturnType<typeof createLogger>;
  #gateway: Gateway | undefined;
  #http: HttpServer | undefined;
  #probes: { close(): Promise<void> } | undefined;
  #bounces: { close(): Promise<void> } | undefined;
  #workers: { stop(timeoutMs: number): Promise<void> } | undefined;
  #started: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(config: Config) {
    this.#config = config;
    this.#logger = createLogger(config.logLevel ?? 'info');
  }

  /**
   * Starts the process. Resolves when it is ready, or when a signal arrives first. If the start fails, closes
   * everything and rejects.
   */
  async start(): Promise<void> {
    this.#started = this.#start();
    try {
      await this.#started;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  /** Finishes work in progress and ends the process. A second signal has no effect. */
  async stop(why: string, code = 0): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#logger.info({ why }, 'draining');
    setTimeout(() => {
      this.#logger.error({}, 'not closed in time; what is left comes back from the queue at the next start');
      process.exit(1);
    }, DRAIN_MS + CLOSE_MS).unref();
    // If the start failed, its error is already printed and everything is closed.
    await this.#started.catch(() => undefined);
    await this.#close();
    this.#logger.info({}, 'stopped');
    process.exit(code);
  }

  async #start(): Promise<void> {
    this.#gateway = await compose(this.#config, this.#logger);
    if (this.#isStopping) return;
    // If the data becomes held now, another database answers at the same URL. Cached values are wrong then, so stop.
    if (this.#config.isWorker)
      this.#gateway.holdGate.onChange((hold) => hold && void this.stop(describeHold(hold), 1));
    const metrics = createMetrics(this.#gateway);
    const { isApi, metricsPort } = this.#config;
    if (isApi) this.#http = await startHttpServer(this.#gateway, this.#config, this.#logger, metrics);
    if (metricsPort !== undefined)
      this.#probes = await startProbeServer(this.#gateway, { ...this.#config, metricsPort }, metrics);
    this.#workers = await this.#gateway.startWorking();
    this.#bounces = await this.#gateway.startBounceListener();
    if (this.#isStopping) return;
    await this.#offerQuickstart(this.#gateway);
    const where = this.#http ? `${this.#http.url} (console at /console)` : '(worker only, no HTTP)';
    process.stdout.write(`ready ${where}\n`);
    const { hold } = this.#gateway.holdGate;
    if (hold) process.stdout.write(`${describeHold(hold)}\n`);
  }

  async #offerQuickstart(gateway: Gateway): Promise<void> {
    if (!this.#http || !(await gateway.stores.accounts.isEmpty())) return;
    // Production prints no secrets to stdout. There an operator creates the first account by the command line.
    if (this.#config.isProduction) {
      process.stdout.write(
        '\nThere is no account yet. Make one: npm run cli -- account create --email you@example.com --currency UGX\n',
      );
      return;
    }
    try {
      process.stdout.write(await createQuickstart(gateway.operations, this.#http.url));
    } catch (error) {
      // Another process on the same database may have created the first account meanwhile. It has printed the secrets,
      // so this error does not matter.
      if (await gateway.stores.accounts.isEmpty()) throw error;
    }
  }

  async #close(): Promise<void> {
    const gateway = this.#gateway;
    this.#gateway = undefined;
    await Promise.all([
      this.#http?.close(DRAIN_MS, GRACE_MS),
      this.#bounces?.close(),
      this.#workers?.stop(DRAIN_MS),
    ]);
    await this.#probes?.close();
    await gateway?.close();
  }
}

function whyNot(error: unknown): string {
  if (error instanceof ConfigError) return `\n${error.message}`;
  return ` ${errorLine(error, isUnreachable)}`;
}

async function main(): Promise<void> {
  const server = new Server(loadConfig());
  process.on('SIGTERM', () => void server.stop('SIGTERM'));
  process.on('SIGINT', () => void server.stop('SIGINT'));
  // The program that reads stdout may close it, as in `npm start | head`. That must not end the server.
  process.stdout.on('error', () => undefined);
  await server.start();
}

main().catch((error: unknown) => {
  process.stderr.write(`Cannot start:${whyNot(error)}\n`);
  process.exit(1);
});
