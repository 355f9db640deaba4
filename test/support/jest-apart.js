import { join } from 'node:path';
import config from '../../jest.config.js';

const rootDir = join(import.meta.dirname, '../..');
const [all] = config.projects;

/**
 * Returns jest's configuration for `test/<folder>`. These tests need more than `npm ci` installs, so `npm test` skips
 * them.
 */
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
