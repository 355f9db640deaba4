import { apart } from '../support/jest-apart.js';

/** Tests that need several JavaScript runtimes. */
export default apart('runtimes');
