import { apart } from '../support/jest-apart.js';

/** The tests that need Debian's debootstrap, nginx and Caddy. */
export default apart('deploy', { testTimeout: 900_000 });
