import { apart } from '../support/jest-apart.js';

/** Tests that need debootstrap, systemd-nspawn, nginx and Caddy from Debian, and schemas from the npm registry. */
export default apart('deploy', { testTimeout: 900_000 });
