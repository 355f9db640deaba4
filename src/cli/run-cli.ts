import { type Command, CommanderError } from 'commander';
import { runInProcess } from '../../sdk/typescript/src/cli/commands.ts';
import type { compose as Compose } from '../compose.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { masterKeyOf, requireCluster, roomOf } from '../config/data-dir.ts';
import { createLogger } from '../start/logger.ts';
import { isUnreachable } from '../storage/postgres/faults.ts';
import type { CliRunner } from './command.ts';
import { cannotStart, examine, type FaultyPart } from './doctor.ts';
import { namingOptions } from './option-names.ts';
import { asText, type CliAnswer, errorLine } from './output.ts';
import { createProgram } from './program.ts';

type OpenOptions = NonNullable<Parameters<typeof Compose>[2]> & { readonly mayMakeDatabase?: boolean };

interface CliIo {
  /** Reads the settings. A command that needs none does not call it. */
  readonly loadConfig: () => Config;
  /** Answers and help. */
  readonly stdout: NodeJS.WritableStream;
  /** Errors. Logs and the progress of a backup go to the stderr of the process. */
  readonly stderr: NodeJS.WritableStream;
}

/**
 * Opens the gateway for one command. `compose` is loaded only then, because help and usage errors do not need it. The
 * gateway logs nothing unless LOG_LEVEL is set. It uses the database's time, even if this machine's clock is wrong. It
 * does not start the tasks that expire and delete data.
 */
async function open(config: Config, { mayMakeDatabase = false, ...options }: OpenOptions = {}) {
  if (!mayMakeDatabase) await requireCluster(config);
  const { compose } = await import('../compose.ts');
  return compose(config, createLogger(config.logLevel ?? 'silent'), { ...options, withAnyClock: true });
}

function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(`${text}\n`, () => resolve()));
}

/** Returns the runner of one command. It tells `exit` an exit code other than 0. */
function createRunner({ loadConfig, stdout, stderr }: CliIo, exit: (code: number) => void): CliRunner {
  async function print(isJson: boolean | undefined, { json, text, failure }: CliAnswer): Promise<void> {
    await write(stdout, isJson ? JSON.stringify(json) : (text ?? asText(json)));
    if (failure === undefined) return;
    exit(1);
    await write(stderr, failure);
  }

  return {
    async client(args) {
      exit(await runInProcess(args));
    },
    async mcp(url, apiKey) {
      // Load the protocol's package only here. Other commands start faster without it.
      const { carryMcp } = await import('./mcp.ts');
      await carryMcp(url, apiKey);
    },
    async run(isJson, work, options) {
      const onLockWait = (sentence: string) => void stderr.write(`${sentence}\n`);
      const gateway = await open(loadConfig(), { ...options, onLockWait });
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
    async withCells(isJson, work) {
      const { listKeys, moveAccount, writeProxyFiles } = await import('../start/cells.ts');
      const answer = await work({
        writeProxyFiles,
        async moveAccount(options) {
          const config = loadConfig();
          return moveAccount(config, createLogger(config.logLevel ?? 'silent'), options);
        },
        async listKeys(options) {
          const config = loadConfig();
          return listKeys(config, createLogger(config.logLevel ?? 'silent'), options);
        },
      });
      await print(isJson, answer);
    },
    async doctor(isJson) {
      const config = loadConfig();
      const cannot = (part: FaultyPart, error: unknown) =>
        print(
          isJson,
          cannotStart(part, errorLine(error, isUnreachable), config.databaseReadUrl !== undefined),
        );
      try {
        // Check this first: opening the gateway would create a cluster in the directory.
        await requireCluster(config);
      } catch (error) {
        return cannot('database', error);
      }
      try {
        await masterKeyOf(config);
      } catch (error) {
        return cannot('master key', error);
      }
      let gateway: Awaited<ReturnType<typeof open>>;
      try {
        gateway = await open(config, { withAnyMasterKey: true });
      } catch (error) {
        return cannot(faultyPart(error), error);
      }
      try {
        const room = config.databaseUrl === undefined ? await roomOf(config.dataDir) : undefined;
        await print(isJson, await examine(gateway, room));
      } finally {
        await gateway.close();
      }
    },
  };
}

/**
 * Returns the part whose settings prevent the start. A wrong setting that does not concern the database counts as a
 * setting of the carriers.
 */
function faultyPart(error: unknown): FaultyPart {
  if (!(error instanceof ConfigError)) return 'database';
  if (error.message.startsWith('DATABASE_READ_URL ')) return 'replica';
  return /^DATA(BASE_URL|_DIR) /.test(error.message) ? 'database' : 'carriers';
}

/** Runs one command. Resolves with the exit code when its output is written. Never rejects. */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  let exitCode = 0;
  let command: Command | undefined;
  const runner = createRunner(io, (code) => {
    exitCode = code;
  });
  try {
    await createProgram(runner, io.stdout)
      .hook('preAction', (_program, running) => {
        command = running;
      })
      .parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help'))
      return 0;
    await write(io.stderr, errorLine(namingOptions(error, command), isUnreachable).replace(/^error: /, ''));
    return 1;
  }
}
