import { apart } from '../support/jest-apart.js';

const config = apart('clients');
const [project] = config.projects;

/** The tests that need generators of clients, or languages in which the documentation has samples. */
export default {
  ...config,
  projects: [
    {
      ...project,
      testMatch: [
        ...project.testMatch,
        '<rootDir>/test/contract/webhook-verification.test.ts',
        '<rootDir>/test/guides/samples.test.ts',
      ],
    },
  ],
};
