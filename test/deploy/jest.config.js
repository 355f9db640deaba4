import { join } from 'node:path';
import config from '../../jest.config.js';

const rootDir = join(import.meta.dirname, '../..');
const [all] = config.projects;

/** The tests that need Debian's debootstrap, nginx and Caddy. */
export default {
  ...config,
  rootDir,
  testTimeout: 900_000,
  projects: [
    {
      ...all,
      rootDir,
      displayName: 'deploy',
      testMatch: ['<rootDir>/test/deploy/*.test.ts'],
      testPathIgnorePatterns: [],
    },
  ],
};
