/** Packs the TypeScript SDK and installs it into an empty directory, as a user does. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** For each program, the arguments that precede its own. */
const PROGRAMS = {
  node: [],
  tsc: [join(ROOT, 'node_modules/typescript/bin/tsc')],
  vite: [join(ROOT, 'node_modules/vite/bin/vite.js')],
};

/** A user's directory in which the package is installed. */
export interface Consumer {
  readonly path: string;
  /** Path of the packed archive. */
  readonly archive: string;
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
  /** Runs any command in the directory and returns its stdout. If it fails, throws an error with its output. */
  runWith(command: readonly string[], environment?: Record<string, string>): Promise<string>;
  remove(): Promise<void>;
}

export async function installSdk(manifest: object = { type: 'module' }): Promise<Consumer> {
  const path = await mkdtemp(join(tmpdir(), 'sdk-consumer-'));
  await writeFile(join(path, 'package.json'), JSON.stringify({ private: true, ...manifest }));
  const packed = await run(process.execPath, [join(ROOT, 'sdk/build.js'), '--pack', path]);
  const archive = packed.stdout.trim();
  const quietly = ['--no-audit', '--no-fund', '--offline', '--no-package-lock'];
  await run('npm', ['install', ...quietly, archive], { cwd: path });
  const consumer: Consumer = {
    path,
    archive,
    async link(...packages) {
      for (const name of packages) {
        await symlink(join(ROOT, 'node_modules', name), join(path, 'node_modules', name), 'junction');
      }
    },
    async write(files) {
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), text);
      }
    },
    run: (program, args, environment) =>
      consumer.runWith([process.execPath, ...PROGRAMS[program], ...args], environment),
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
