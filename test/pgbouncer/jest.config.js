import { apart } from '../support/jest-apart.js';

/** The tests that need a real PgBouncer. */
export default apart('pgbouncer');
