import { apart } from '../support/jest-apart.js';

/** The tests that need generators of clients. */
export default apart('clients');
