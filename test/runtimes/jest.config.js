import { apart } from '../support/jest-apart.js';

/** The tests that need several runtimes. */
export default apart('runtimes');
