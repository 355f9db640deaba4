import { join } from 'node:path';
import config from '../../jest.config.js';

const rootDir = join(import.meta.dirname, '../..');
const [all] = config.projects;

/** The tests that need a real PgBouncer. */
export default {
  ...config,
  rootDir,
  projects: [
    {
      ...all,
      rootDir,
      displayName: 'PgBouncer',
      testMatch: ['<rootDir>/test/pgbouncer/*.test.ts'],
      testPathIgnorePatterns: [],
    },
  ],
};
