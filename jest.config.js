import { existsSync } from 'node:fs';
import { LONG } from './test/support/long-tests.js';
import { TRANSLATION } from './test/support/translation.js';

/** @type {import('jest').Config} */
const project = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/sdk/typescript/dist/'],
  testRunner: '<rootDir>/test/support/native-modules.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Of the files that jest imports itself, which are the global setups.
  transform: { '^.+\\.ts$': ['@swc/jest', TRANSLATION] },
};
/** `long` or `all`; otherwise the files that are not long. `npm run test:long` and others set it. */
const set = process.env.TEST_SET;
/** A version other than the gateway's own: `npm run test:postgres` sets it. */
const version = process.env.TEST_POSTGRES;
const all = {
  ...project,
  displayName: version === undefined ? 'all' : `PostgreSQL ${version}`,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: [
    ...({ all: [], long: [`^(?!.*${LONG})`] }[set] ?? [LONG]),
    // `npm run test:pgbouncer` has them.
    '/test/pgbouncer/',
    // `npm run test:ha` has them.
    '/test/ha/',
    // `npm run test:cells` has them.
    '/test/cells/',
    // `npm run test:upgrade` has them.
    '/test/upgrade/',
    // `npm run test:clients` has them.
    '/test/clients/',
    // `npm run test:deploy` has them.
    '/test/deploy/',
    // `npm run test:runtimes` has them.
    '/test/runtimes/',
    // It is about the PostgreSQL that the gateway brings.
    ...(version === undefined ? [] : ['/embedded-postgres\\.test\\.ts$']),
  ],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
};
/**
 * What the oldest PostgreSQL is tried with each time: every statement is parsed there (`statements`), and the tests of
 * SQL that is put together from parts. `npm run test:postgres` runs all tests with each version.
 */
const STORAGE = [
  'integration/{backup,contact-import,history-filters,intake,migrations,pg-listener,queue,rate-limiter,retention}',
  'integration/{search,server-check,statements,transactions}',
  'contract/{graphql-lists,sms,webhooks}',
];
const oldest = {
  ...project,
  displayName: 'PostgreSQL 14',
  testMatch: STORAGE.map((names) => `<rootDir>/test/${names}.test.ts`),
  globalSetup: '<rootDir>/test/support/global-setup-oldest.ts',
  globals: { testServerVariable: 'TEST_PG_OLDEST' },
};
/** Its binaries are there for Linux on x64 only. */
const hasOldest = existsSync(new URL('node_modules/postgres-14', import.meta.url));
if (!hasOldest) console.warn('There are no binaries of PostgreSQL 14 for this platform: nothing runs on it.');

/** @type {import('jest').Config} */
export default {
  projects: hasOldest && version === undefined && set !== 'long' ? [all, oldest] : [all],
  // Four for two cores: more than half of the time tests wait for retries, timeouts and starts.
  maxWorkers: 4,
  testSequencer: '<rootDir>/test/support/slow-first.js',
  // Modules of files that are done stay in a worker's memory; beyond this it is begun anew.
  workerIdleMemoryLimit: '1GB',
  // Bounds what hangs. Longer than `eventually` waits, so that what never came true is named.
  testTimeout: 120_000,
};
