/** Runs Python programs with the SDK one after another in one process, because a start takes longer than most of them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export const PYTHON_SDK = join(import.meta.dirname, '../../sdk/python');

/** True if there is a Python that the SDK supports: 3.9 or newer. */
export const hasPython =
  spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))']).status === 0;

/** Returns the environment of a Python process, without the developer's own configuration. */
export function pythonEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, PYTHONPATH: PYTHON_SDK, PYTHONDONTWRITEBYTECODE: '1', ...more };
}

/** Reads programs from stdin, one JSON document a line. Each gets its own environment, output and `__main__` variables. */
const RUNNER = `
import contextlib, io, json, os, sys, traceback
for line in sys.stdin:
    asked = json.loads(line)
    os.environ.clear()
    os.environ.update(asked["environment"])
    stdout, stderr, failed = io.StringIO(), io.StringIO(), False
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            exec(compile(asked["code"], asked["name"], "exec"), {"__name__": "__main__"})
        except BaseException:
            failed = True
            traceback.print_exc()
    answer = {"stdout": stdout.getvalue(), "stderr": stderr.getvalue(), "failed": failed}
    print(json.dumps(answer), flush=True)
`;

export interface Python {
  /**
   * Runs a program to its end and returns its output. Throws an error with the output and the traceback if the program
   * raises. Call it again only after it has resolved. `name` is the file name in tracebacks.
   */
  run(
    code: string,
    environment?: Readonly<Record<string, string>>,
    name?: string,
  ): Promise<{ readonly stdout: string; readonly stderr: string }>;
  stop(): Promise<void>;
}

export function startPython(): Python {
  const child = spawn('python3', ['-c', RUNNER], { cwd: PYTHON_SDK, env: pythonEnvironment() });
  const closed = once(child, 'close');
  child.stderr.pipe(process.stderr);
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async run(code, environment, name = 'program.py') {
      child.stdin.write(`${JSON.stringify({ code, name, environment: pythonEnvironment(environment) })}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error(`${name} ended Python`);
      const { stdout, stderr, failed } = JSON.parse(value) as Record<'stdout' | 'stderr', string> & {
        failed: boolean;
      };
      if (failed) throw new Error(`${name} failed: ${stdout}${stderr}`);
      return { stdout, stderr };
    },
    async stop() {
      child.stdin.end();
      await closed;
    },
  };
}
