import { CommanderError } from 'commander';
import { runInProcess } from '../../sdk/typescript/src/cli/commands.ts';
import type { compose as Compose } from '../compose.ts';
import { ConfigError, loadConfig } from '../config/config.ts';
import { masterKeyOf, requireCluster, roomOf } from '../config/data-dir.ts';
import { createLogger } from '../start/logger.ts';
import { isUnreachable } from '../storage/postgres/faults.ts';
import type { CliRunner } from './command.ts';
import { cannotStart, examine } from './doctor.ts';
import { asText, type CliAnswer, errorLine } from './output.ts';
import { createProgram } from './program.ts';

type OpenOptions = NonNullable<Parameters<typeof Compose>[2]> & { readonly mayMakeDatabase?: boolean };

/**
 * Opens the gateway for one command. `compose` is loaded only then, because help and usage errors do not need it. The
 * gateway logs nothing unless LOG_LEVEL is set. It uses the database's time, even if this machine's clock is wrong. It
 * does not start the tasks that expire and delete data.
 */
async function open({ mayMakeDatabase = false, ...options }: OpenOptions = {}) {
  const config = loadConfig();
  if (!mayMakeDatabase) await requireCluster(config);
  const { compose } = await import('../compose.ts');
  return compose(config, createLogger(config.logLevel ?? 'silent'), { ...options, withAnyClock: true });
}

async function print(isJson: boolean | undefined, { json, text, failure }: CliAnswer): Promise<void> {
  await write(process.stdout, isJson ? JSON.stringify(json) : (text ?? asText(json)));
  if (failure === undefined) return;
  process.exitCode = 1;
  await write(process.stderr, failure);
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(`${text}\n`, () => resolve()));
}

const runner: CliRunner = {
  async client(args) {
    process.exitCode = await runInProcess(args);
  },
  async mcp(url, apiKey) {
    // Load the protocol's package only here. Other commands start faster without it.
    const { carryMcp } = await import('./mcp.ts');
    await carryMcp(url, apiKey);
  },
  async run(isJson, work, options) {
    const gateway = await open(options);
    // Print the answer before closing: closing may fail, and a new password is shown only once.
    try {
      await print(isJson, await work(gateway));
    } finally {
      await gateway.close();
    }
  },
  async withTools(isJson, work) {
    const config = loadConfig();
    const logger = createLogger(config.logLevel ?? 'silent');
    const { backUp, backUpContinuously, restore } = await import('../start/backup.ts');
    const answer = await work({
      backUp: (options) => backUp(config, logger, options),
      backUpContinuously: (options) => backUpContinuously(config, logger, options),
      restore: (options) => restore(config, logger, options),
    });
    await print(isJson, answer);
  },
  async doctor(isJson) {
    const config = loadConfig();
    try {
      // Check this first: opening the gateway would create a cluster in the directory.
      await requireCluster(config);
    } catch (error) {
      return print(isJson, cannotStart('database', errorLine(error, isUnreachable)));
    }
    try {
      await masterKeyOf(config);
    } catch (error) {
      return print(isJson, cannotStart('master key', errorLine(error, isUnreachable)));
    }
    let gateway: Awaited<ReturnType<typeof open>>;
    try {
      gateway = await open({ withAnyMasterKey: true });
    } catch (error) {
      return print(isJson, cannotStart(faultyPart(error), errorLine(error, isUnreachable)));
    }
    try {
      const room = config.databaseUrl === undefined ? await roomOf(config.dataDir) : undefined;
      await print(isJson, await examine(gateway, room));
    } finally {
      await gateway.close();
    }
  },
};

/**
 * Returns the part whose settings prevent the start. A wrong setting that does not concern the database counts as a
 * setting of the carriers.
 */
function faultyPart(error: unknown): 'database' | 'carriers' {
  if (!(error instanceof ConfigError)) return 'database';
  return /^DATA(BASE_URL|_DIR) /.test(error.message) ? 'database' : 'carriers';
}

async function main(): Promise<void> {
  const program = createProgram(runner);
  try {
    await program.parseAsync();
  } catch (error) {
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help')) return;
    process.exitCode = 1;
    await write(process.stderr, errorLine(error, isUnreachable).replace(/^error: /, ''));
  }
}

await main();
process.exit();
