/**
 * Changes the clocks of a gateway. `--import` loads it before the gateway. SIGUSR2 sets the wall clock. On a suspended
 * machine the monotonic clock of Linux stops too: `SUSPENDED_FILE` holds the total suspended time in ms.
 */
import '../support/shifted-date.ts';
import { readFileSync } from 'node:fs';

const file = process.env.SUSPENDED_FILE ?? '';
const realNow = performance.now.bind(performance);
/**
 * Time in ms for which a value read from the file is used. It is short, so that a process that was stopped reads the
 * file again before it does anything.
 */
const FRESH_MS = 1;
let readAt = Number.NEGATIVE_INFINITY;
let suspendedMs = 0;

performance.now = () => {
  const now = realNow();
  if (now - readAt > FRESH_MS) {
    readAt = now;
    suspendedMs = read();
  }
  return now - suspendedMs;
};

function read(): number {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return 0;
  }
}
