import { errorLine } from './cli/output.ts';
import { compose, type Gateway } from './compose.ts';
import { type Config, ConfigError, loadConfig } from './config/config.ts';
import { describeHold } from './domain/recovery/hold.ts';
import { type HttpServer, startHttpServer } from './http/http-server.ts';
import { createLogger } from './start/logger.ts';
import { createQuickstart } from './start/quickstart.ts';
import { isUnreachable } from './storage/postgres/faults.ts';

/** What is under way at a signal has this long; then it is cut off and comes back from the queue at the next start. */
const DRAIN_MS = 30_000;
/** Closing connections and PostgreSQL, and a start that is under way at the signal. */
const CLOSE_MS = 10_000;

class Server {
  readonly #config: Config;
  readonly #logger: ReturnType<typeof createLogger>;
  #gateway: Gateway | undefined;
  #http: HttpServer | undefined;
  #workers: { stop(timeoutMs: number): Promise<void> } | undefined;
  #started: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(config: Config) {
    this.#config = config;
    this.#logger = createLogger(config.logLevel ?? 'info');
  }

  /** Resolves when ready, or when a signal came first. Rejects, with everything closed again, when it cannot start. */
  async start(): Promise<void> {
    this.#started = this.#start();
    try {
      await this.#started;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  /** Drains and ends the process; a signal that comes again changes nothing. */
  async stop(why: string, code = 0): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#logger.info({ why }, 'draining');
    setTimeout(() => {
      this.#logger.error({}, 'not closed in time; what is left comes back from the queue at the next start');
      process.exit(1);
    }, DRAIN_MS + CLOSE_MS).unref();
    // A start that fails has said so and closed what it opened.
    await this.#started.catch(() => undefined);
    await this.#close();
    this.#logger.info({}, 'stopped');
    process.exit(code);
  }

  async #start(): Promise<void> {
    this.#gateway = await compose(this.#config, this.#logger);
    if (this.#isStopping) return;
    // The database was replaced under this process: what it works on is not what it knew.
    if (this.#config.isWorker)
      this.#gateway.holdGate.onChange((hold) => hold && void this.stop(describeHold(hold), 1));
    if (this.#config.isApi) this.#http = await startHttpServer(this.#gateway, this.#config, this.#logger);
    this.#workers = await this.#gateway.startWorking();
    if (this.#isStopping) return;
    await this.#offerQuickstart(this.#gateway);
    const where = this.#http ? `${this.#http.url} (console at /console)` : '(worker only, no HTTP)';
    process.stdout.write(`ready ${where}\n`);
    const { hold } = this.#gateway.holdGate;
    if (hold) process.stdout.write(`${describeHold(hold)}\n`);
  }

  async #offerQuickstart(gateway: Gateway): Promise<void> {
    if (!this.#http || !(await gateway.stores.accounts.isEmpty())) return;
    // Production prints no secrets: there, the command line makes the accounts.
    if (this.#config.isProduction) {
      process.stdout.write(
        '\nThere is no account yet. Make one: npm run cli -- account create --email you@example.com --currency UGX\n',
      );
      return;
    }
    try {
      process.stdout.write(await createQuickstart(gateway.operations, this.#http.url));
    } catch (error) {
      // Another process on the same database may have been first, and has shown its secrets.
      if (await gateway.stores.accounts.isEmpty()) throw error;
    }
  }

  async #close(): Promise<void> {
    const gateway = this.#gateway;
    this.#gateway = undefined;
    await Promise.all([this.#http?.close(DRAIN_MS), this.#workers?.stop(DRAIN_MS)]);
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
  // Whoever reads the first lines may stop to read, as `npm start | head` does.
  process.stdout.on('error', () => undefined);
  await server.start();
}

main().catch((error: unknown) => {
  process.stderr.write(`Cannot start:${whyNot(error)}\n`);
  process.exit(1);
});
