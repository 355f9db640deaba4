/** Starts the built server with a limiter that admits everything. Row 7 compares with it. */
import { join } from 'node:path';

const built = <Module>(path: string): Promise<Module> => import(join(process.cwd(), 'dist/src', path));
const { compose } = await built<typeof import('../../src/compose.ts')>('compose.js');
const { loadConfig } = await built<typeof import('../../src/config/config.ts')>('config/config.js');
const { startHttpServer } =
  await built<typeof import('../../src/http/http-server.ts')>('http/http-server.js');
const { createLogger } = await built<typeof import('../../src/start/logger.ts')>('start/logger.js');
const { createQuickstart } =
  await built<typeof import('../../src/start/quickstart.ts')>('start/quickstart.js');

const config = loadConfig();
const logger = createLogger(config.logLevel ?? 'warn');
const gateway = await compose(config, logger);
const pass = { isAllowed: true, limit: 1, remaining: 1, resetAt: 0, retryAfterSeconds: 0, rule: null };
const unlimited = { ...gateway, rateLimiter: { take: async () => pass, sweep: async () => 0 } };
const http = await startHttpServer(unlimited as unknown as typeof gateway, config, logger);
process.stdout.write(`${await createQuickstart(gateway.operations, http.url)}\nready ${http.url}\n`);
process.on('SIGTERM', () => process.exit(0));
