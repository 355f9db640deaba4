import { provideTestPostgres } from './global-setup.ts';

/**
 * Starts the server for the tests that also run on the oldest supported PostgreSQL. jest's workers find its address in
 * TEST_PG_OLDEST.
 */
export default () => provideTestPostgres('TEST_PG_OLDEST', 14);
