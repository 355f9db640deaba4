import { apart } from '../support/jest-apart.js';

/** Tests that need debootstrap, nginx and Caddy from Debian. */
export default apart('deploy', { testTimeout: 900_000 });
