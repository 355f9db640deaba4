import { existsSync } from 'node:fs';

/** @type {import('jest').Config} */
const project = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/sdk/typescript/dist/'],
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
};
/** A version other than the gateway's own: `npm run test:postgres` sets it. */
const version = process.env.TEST_POSTGRES;
const all = {
  ...project,
  displayName: version === undefined ? 'all' : `PostgreSQL ${version}`,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: [
    // `npm run test:pgbouncer` has them.
    '/test/pgbouncer/',
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
/** What the oldest PostgreSQL is tried with each time: every store's SQL, in the tests that take least. */
const STORAGE = [
  'integration/{transition-recipients,contact-import,doubled-attempts,hand-over,history-filters,history-walk,intake}',
  'integration/{ledger,ledger-list,list-counts,list-plans,migrations,pg-listener,queue,rate-limiter,prepaid-permits}',
  'integration/{references,retention,search,seq-range,server-check,recipients,statements,transactions}',
  'integration/{database-clock,unanswered,backup}',
  'contract/{api-keys,audit-chain,contact-import,contacts,event-feed,graphql-admin,graphql-lists,graphql-plans}',
  'contract/{history,idempotency,key-limits,keys-of-people,money,quote,rate-limits,sandbox-wall,sms,webhooks}',
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
  projects: hasOldest && version === undefined ? [all, oldest] : [all],
  // Four for two cores: more than half of the time tests wait for retries, timeouts and starts.
  maxWorkers: 4,
  testSequencer: '<rootDir>/test/support/slow-first.js',
  // Modules of files that are done stay in a worker's memory; beyond this it is begun anew.
  workerIdleMemoryLimit: '1GB',
  // Bounds what hangs. Longer than `eventually` waits, so that what never came true is named.
  testTimeout: 120_000,
};
