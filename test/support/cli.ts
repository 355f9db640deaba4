import { Writable } from 'node:stream';
import { runCli } from '../../src/cli/run-cli.ts';
import { parseConfig } from '../../src/config/config.ts';
import type { Finished } from './server-process.ts';

/**
 * Runs a command of the CLI in the test's process, because a process takes seconds of CPU time to start. `variables` is
 * the whole environment. Use `runCli` of server-process.ts for what only a process has: `.env`, logs and signals.
 */
export async function runCliHere(
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<Finished> {
  const written = { stdout: '', stderr: '' };
  const capture = (name: keyof typeof written) =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        written[name] += chunk;
        done();
      },
    });
  const code = await runCli(args, {
    loadConfig: () => parseConfig(variables),
    stdout: capture('stdout'),
    stderr: capture('stderr'),
  });
  return { code, ...written };
}
