import { compose } from './compose.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { startHttpServer } from './http-server.ts';
import { createLogger } from './logger.ts';
import { createQuickstart } from './quickstart.ts';

const DRAIN_MS = 30_000;

async function main(): Promise<void> {
  const config = loadConfig();
  const logger = createLogger(config.logLevel);
  const gateway = await compose(config, logger);
  const http = config.isApi ? await startHttpServer(gateway, config, logger) : undefined;
  const workers = await gateway.startWorking();
  await offerQuickstart(gateway, config, http?.url);
  process.stdout.write(`ready ${http?.url ?? '(worker only, no HTTP)'}\n`);

  let isDraining = false;
  const drain = async (signal: string) => {
    if (isDraining) return;
    isDraining = true;
    logger.info({ signal }, 'draining');
    const deadline = setTimeout(() => {
      logger.error({}, 'not drained in time; what is left comes back from the queue at the next start');
      process.exit(1);
    }, DRAIN_MS + 5_000);
    deadline.unref();
    await http?.close();
    await workers.stop(DRAIN_MS);
    await gateway.close();
    logger.info({}, 'stopped');
    process.exit(0);
  };
  process.on('SIGTERM', () => void drain('SIGTERM'));
  process.on('SIGINT', () => void drain('SIGINT'));
}

async function offerQuickstart(
  gateway: Awaited<ReturnType<typeof compose>>,
  config: Config,
  url: string | undefined,
): Promise<void> {
  if (url === undefined || !(await gateway.stores.accounts.isEmpty())) return;
  // Production prints no secrets: there, the command line makes the accounts.
  const text = config.isProduction
    ? '\nThere is no account yet. Make one with: npm run cli -- account create --email you@example.com --currency UGX\n'
    : await createQuickstart(gateway.operations, url);
  process.stdout.write(text);
}

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(error instanceof ConfigError ? `Cannot start:\n${message}\n` : `Cannot start: ${message}\n`);
  process.exit(1);
});
