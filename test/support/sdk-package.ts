/** Packs the TypeScript SDK and installs it, as a user does. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inspect, promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { makeOnce } from './make-once.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** For each program, the arguments that precede its own. */
const PROGRAMS = {
  node: [],
  tsc: [join(ROOT, 'node_modules/typescript/bin/tsc')],
};

/** A user's directory in which the package is installed. */
export interface Consumer {
  readonly path: string;
  /** Makes packages of this repository available in the directory by links. */
  link(...packages: string[]): Promise<void>;
  /** Writes files. The keys are paths in the directory. */
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** Runs a program in the directory and returns its stdout. If it fails, throws an error with its output. */
  run(
    program: keyof typeof PROGRAMS,
    args: readonly string[],
    environment?: Record<string, string>,
  ): Promise<string>;
  /**
   * Runs a module as `node FILE` does, but in a thread, which starts in a fraction of the time of a process. Its working
   * directory is that of this process. Returns its stdout. If it fails, throws an error with its output.
   */
  runModule(file: string, environment?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs any command in the directory and returns its stdout. If it fails, throws an error with its output. */
  runWith(command: readonly string[], environment?: Record<string, string>): Promise<string>;
  remove(): Promise<void>;
}

/** Packs the SDK and installs the package into the directory `into`. */
async function packAndInstall(into: string): Promise<void> {
  const packed = await run(process.execPath, [join(ROOT, 'sdk/build.js'), '--pack', into]);
  await writeFile(join(into, 'package.json'), '{"private":true}');
  const quietly = ['--no-audit', '--no-fund', '--offline', '--no-package-lock'];
  await run('npm', ['install', ...quietly, packed.stdout.trim()], { cwd: into });
}

/** Creates a user's directory. All test files of a jest run share one installation of the package, and copy it. */
export async function installSdk(): Promise<Consumer> {
  const path = await mkdtemp(join(tmpdir(), 'sdk-consumer-'));
  await writeFile(join(path, 'package.json'), '{"private":true,"type":"module"}');
  const installed = await makeOnce(join(process.env.TEST_BUILD_DIR ?? path, 'sdk'), packAndInstall);
  await cp(join(installed, 'node_modules'), join(path, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  const consumer: Consumer = {
    path,
    async link(...packages) {
      for (const name of packages) {
        await symlink(join(ROOT, 'node_modules', name), join(path, 'node_modules', name), 'junction');
      }
    },
    async write(files) {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), content);
      }
    },
    run: (program, args, environment) =>
      consumer.runWith([process.execPath, ...PROGRAMS[program], ...args], environment),
    async runModule(file, environment) {
      const { PATH = '', HOME = '' } = process.env;
      const thread = new Worker(join(path, file), {
        env: { PATH, HOME, ...environment },
        execArgv: [],
        stdout: true,
        stderr: true,
      });
      const printed = Promise.all([text(thread.stdout), text(thread.stderr)]);
      const fault = await once(thread, 'exit').then(
        ([code]) => (code === 0 ? undefined : `exit code ${code}`),
        (error) => inspect(error),
      );
      const [stdout, stderr] = await printed;
      if (fault !== undefined) throw new Error(`${file} failed: ${fault}\n${stdout}${stderr}`);
      return stdout;
    },
    async runWith([command = '', ...args], environment = {}) {
      const { PATH = '', HOME = '' } = process.env;
      try {
        const done = await run(command, args, { cwd: path, env: { PATH, HOME, ...environment } });
        return done.stdout;
      } catch (error) {
        const { stdout, stderr } = error as { stdout: string; stderr: string };
        throw new Error(`${command} ${args.join(' ')} failed: ${stdout}${stderr}`);
      }
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
  return consumer;
}
