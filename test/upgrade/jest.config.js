import { apart } from '../support/jest-apart.js';

/** Tests that build an earlier release from the history of git. */
export default apart('upgrade');
