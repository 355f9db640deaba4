import { apart } from '../support/jest-apart.js';

/** Tests of several cells behind Debian's HAProxy. */
export default apart('cells');
