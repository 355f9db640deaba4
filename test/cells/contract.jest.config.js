import { apart } from '../support/jest-apart.js';

/** The tests of the contract, with two cells behind Debian's HAProxy (`npm run test:cells-contract`). */
const config = apart('contract');
const [project] = config.projects;

export default {
  ...config,
  projects: [
    {
      ...project,
      displayName: 'contract behind HAProxy',
      globalSetup: '<rootDir>/test/support/global-setup-cells.ts',
    },
  ],
};
