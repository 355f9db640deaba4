import { join } from 'node:path';
import config from '../../jest.config.js';

const rootDir = join(import.meta.dirname, '../..');
const [all] = config.projects;

/** Jest's configuration for tests that need more than `npm ci` brings, in `test/<folder>`: `npm test` leaves them out. */
export const apart = (folder, more = {}) => ({
  ...config,
  rootDir,
  ...more,
  projects: [
    {
      ...all,
      rootDir,
      displayName: folder,
      testMatch: [`<rootDir>/test/${folder}/*.test.ts`],
      testPathIgnorePatterns: [],
    },
  ],
});
