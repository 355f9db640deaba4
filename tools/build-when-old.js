/**
 * Builds the parts of dist that are missing or older than their sources. Checking the times takes a few milliseconds,
 * while the compilers need a second or more to find out that nothing has changed. The time of a folder changes when a
 * file in it is deleted. Arguments (`server`, `console`, `explorer`, `docs`) limit the build to these parts. Ends with
 * an error if Node is too old to run the result.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, writeFileSync } from 'node:fs';

/** The oldest version of Node that has everything the gateway uses (crypto.argon2). */
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
/** The parts of dist. `built` is a file that is written after a successful build. So a failed build is repeated. */
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
    // The compiler has already printed the error.
    process.exit(error.status ?? 1);
  }
}
