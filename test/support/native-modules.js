/**
 * Runs test files with jest-circus, but imports them with Node's own loader. Jest's loader evaluates all modules of the
 * gateway again for each test file, as a new copy that V8 must compile again. Here the files that a worker runs share the
 * modules of `src` and of packages. Only the test file itself is new.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';
import { TRANSLATION } from './translation.js';

const require = createRequire(import.meta.url);
const { default: runCircus } = require('jest-circus/runner');
const GLOBALS = new URL('./test-globals.js', import.meta.url).href;

/** Directory of what was translated. Workers share it. */
let cache;
/** The files of source maps, by the URL of the module. */
const maps = new Map();
/** Source maps of the test file that runs now. Jest uses them to show the right lines in the stack of an error. */
let shown = maps;

/** Returns the JavaScript of a TypeScript module. */
function translate(url) {
  const path = fileURLToPath(url);
  const source = readFileSync(path, 'utf8');
  const made = join(
    cache,
    `${createHash('sha256')
      .update(JSON.stringify([TRANSLATION, path, source]))
      .digest('hex')}.js`,
  );
  if (!existsSync(made)) {
    const { code, map } = transformSync(source, { ...TRANSLATION, sourceMaps: true, filename: path });
    write(`${made}.map`, map);
    write(made, code);
  }
  maps.set(url, `${made}.map`);
  shown.set(url, `${made}.map`);
  return readFileSync(made, 'utf8');
}

/** Writes a file that other workers see whole or not at all. */
function write(path, text) {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}

function begin(cacheDirectory) {
  if (cache !== undefined) return;
  cache = join(cacheDirectory, 'native-modules');
  mkdirSync(cache, { recursive: true });
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === '@jest/globals' ? { url: GLOBALS, shortCircuit: true } : next(specifier, context),
    load(url, context, next) {
      const { protocol, pathname } = new URL(url);
      if (protocol !== 'file:' || !pathname.endsWith('.ts') || pathname.includes('/node_modules/'))
        return next(url, context);
      return { format: 'module', source: translate(url), shortCircuit: true };
    },
  });
}

/** Number of test files so far. Each is imported under a URL of its own. */
let runs = 0;

/** Jest's interface of a test runner (`testRunner` of jest.config.js). */
export default async function runTestFile(globalConfig, config, environment, runtime, path, send) {
  begin(config.cacheDirectory);
  shown = runtime.getSourceMaps();
  for (const [url, map] of maps) shown.set(url, map);
  environment.fakeTimersModern = new environment.fakeTimersModern.constructor({ config, global: globalThis });
  // Circus and `expect` run in a context of their own. They meet only values of this one.
  for (const name of Object.getOwnPropertyNames(globalThis))
    if (/^[A-Z]/.test(name) && typeof globalThis[name] === 'function')
      environment.global[name] = globalThis[name];
  const before = { env: { ...process.env }, console: globalThis.console };
  Object.assign(globalThis, config.globals);
  globalThis.console = environment.global.console;
  runtime.unstable_importModule = (module) => {
    globalThis.testGlobals = runtime.requireModule(require.resolve('./jest-globals.cjs'));
    runs += 1;
    return import(`${pathToFileURL(module).href}?run=${runs}`);
  };
  try {
    return await runCircus(globalConfig, config, environment, runtime, path, send);
  } finally {
    environment.fakeTimersModern.dispose();
    globalThis.console = before.console;
    for (const name of Object.keys(config.globals)) delete globalThis[name];
    for (const name of Object.keys(process.env)) if (!(name in before.env)) delete process.env[name];
    Object.assign(process.env, before.env);
  }
}
