import { apart } from '../support/jest-apart.js';

/** Tests that need a real PgBouncer. */
export default apart('pgbouncer');
