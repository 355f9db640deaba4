/** Types and functions that all commands use. */
import { type Command, InvalidArgumentError } from 'commander';
import type { SystemCaller } from '../domain/caller.ts';
import type { Operations } from '../domain/operations.ts';
import type { BackupTools } from './backup-tools.ts';
import type { CellTools } from './cell-tools.ts';
import type { CliAnswer } from './output.ts';

export const CLI: SystemCaller = { kind: 'system', name: 'cli' };

/** The parts of the gateway that commands use. */
export interface CliGateway {
  readonly operations: Pick<
    Operations,
    'accounts' | 'members' | 'apiKeys' | 'audit' | 'recovery' | 'secondFactors'
  >;
  readonly migration: { readonly from: string; readonly to: string; readonly newerThan?: string };
}

export interface CliRunner {
  /**
   * Opens the gateway, runs `work`, closes the gateway and prints the answer. Refuses to create an embedded
   * PostgreSQL in DATA_DIR unless `mayMakeDatabase`.
   */
  run(
    isJson: boolean | undefined,
    work: (gateway: CliGateway) => Promise<CliAnswer>,
    options?: { readonly mayMakeDatabase?: boolean },
  ): Promise<void>;
  doctor(isJson: boolean | undefined): Promise<void>;
  /** Runs a command of the SDK, which acts as a client of a running gateway. */
  client(args: readonly string[]): Promise<void>;
  /**
   * Connects a language model to a running gateway. The model speaks the Model Context Protocol over standard input and
   * output. Runs until the input ends.
   */
  mcp(url: string, apiKey: string): Promise<void>;
  /** Runs `work` without opening the gateway, and prints the answer. */
  withTools(isJson: boolean | undefined, work: (tools: BackupTools) => Promise<CliAnswer>): Promise<void>;
  /** Runs `work` of cells without opening the gateway, and prints the answer. */
  withCells(isJson: boolean | undefined, work: (tools: CellTools) => Promise<CliAnswer>): Promise<void>;
}

export function group(parent: Command, name: string, description: string, example: string): Command {
  return parent
    .command(name)
    .description(description)
    .addHelpText('after', examples(`${name} ${example}`));
}

export function leaf(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .allowExcessArguments(false)
    .option('--json', 'print one JSON document');
}

export function examples(...commands: string[]): string {
  return `\nExamples:\n${commands.map((command) => `  $ npm run cli -- ${command}`).join('\n')}\n`;
}

/** Parses an option that is a whole number from 1 to `most`. `orElse` names what else it may be. */
export function whole(text: string, most: number, orElse = ''): number {
  if (!/^[1-9]\d*$/.test(text) || Number(text) > most)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}${orElse}.`);
  return Number(text);
}
