/**
 * Builds what is missing in dist or older than anything it is made from: the compilers take a second or more to find
 * that there is nothing to do, this a few milliseconds. A folder's own time shows deleted files. With names
 * (`server`, `console`, `explorer`, `docs`), only those. Stops where Node is too old to run what is built.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';

/** The oldest Node with everything that the gateway uses (crypto.argon2). */
const OLDEST_NODE = { major: 24, minor: 7 };
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE.major || (major === OLDEST_NODE.major && minor < OLDEST_NODE.minor)) {
  console.error(
    `Node ${process.versions.node} is too old: ${OLDEST_NODE.major}.${OLDEST_NODE.minor} or newer is needed. The ` +
      'packages include it for Linux and Windows, unless optional ones are left out. Elsewhere install it from ' +
      'https://nodejs.org.',
  );
  process.exit(1);
}

const CONSOLE = 'src/console';
/** `built` is written after a build without errors, so that a failed build is repeated. */
const TARGETS = [
  {
    name: 'server',
    built: 'dist/.built',
    sources: [
      'src',
      'migrations',
      'sdk/typescript/src',
      'package-lock.json',
      'tsconfig.json',
      'tsconfig.build.json',
    ],
    without: [CONSOLE, 'src/explorer'],
    command: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'],
  },
  {
    name: 'console',
    built: 'dist/.console-built',
    sources: [CONSOLE, 'src/domain', 'docs/guides/webhooks.md', 'package-lock.json', 'vite.config.js'],
    command: ['node_modules/vite/bin/vite.js', 'build', '--logLevel', 'warn'],
  },
  {
    name: 'explorer',
    built: 'dist/.explorer-built',
    sources: ['src/explorer', 'package-lock.json', 'vite.config.js'],
    command: ['node_modules/vite/bin/vite.js', 'build', '--mode', 'explorer', '--logLevel', 'warn'],
  },
  {
    name: 'docs',
    built: 'dist/.docs-built',
    sources: [
      ...['docs/guides', 'tools/docs', 'schema', 'sdk/operations.json', 'sdk/table.js', 'sdk/python.js'],
      ...['src/rest/error-response.ts', 'package-lock.json'],
    ],
    command: ['tools/docs/build.js'],
  },
];

const changedAt = (path, without = []) => {
  if (without.includes(path)) return 0;
  const stat = statSync(path);
  const inside = stat.isDirectory()
    ? readdirSync(path).map((name) => changedAt(`${path}/${name}`, without))
    : [];
  return Math.max(stat.mtimeMs, ...inside);
};
const only = process.argv.slice(2);
for (const { name, built, sources, without, command } of TARGETS) {
  if (only.length > 0 && !only.includes(name)) continue;
  const builtAt = statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (sources.every((source) => changedAt(source, without) < builtAt)) continue;
  try {
    execFileSync(process.execPath, command, { stdio: 'inherit' });
    writeFileSync(built, '');
  } catch (error) {
    // The compiler has printed the error.
    process.exit(error.status ?? 1);
  }
}
