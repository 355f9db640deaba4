/**
 * The test files that `npm test` leaves out, because together they take nearly as long as all others: most of the
 * browser, servers that are killed, frozen and restored again and again, and the CPU time of every text field. `npm run
 * test:long` runs them; do so before a release, and after a change to what they are about.
 */
const NAMES = [
  'console/(api-keys|contacts|every-page|ledger|members|messages|messages-list|operator|overview|personas|places|requests)',
  'console/(events|security|send|senders|single-sign-on|suppressions|tasks|webhooks)',
  'contract/hostile-texts',
  'e2e/(clocks|database-outage|kept-reports|readiness|reads-on-disk|start-stop|webhook-crash)',
  'integration/embedded-postgres',
];
/** Matches the paths of these files. */
export const LONG = `/test/(${NAMES.join('|')})\\.test\\.ts$`;
