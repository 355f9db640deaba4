import { provideTestPostgres } from './global-setup.ts';

/** The server of the tests that also run on the oldest supported PostgreSQL. Workers find it in TEST_PG_OLDEST. */
export default () => provideTestPostgres('TEST_PG_OLDEST', 14);
