import { apart } from '../support/jest-apart.js';

/** Tests that need Debian's Patroni, etcd, HAProxy and PostgreSQL. */
export default apart('ha');
