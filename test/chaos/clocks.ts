/**
 * Loaded by `--import` before a gateway: its clocks can be disturbed. SIGUSR2 sets the wall clock, and while its machine
 * is suspended the monotonic clock of Linux stands still: `SUSPENDED_FILE` says for how many milliseconds in all.
 */
import '../support/shifted-date.ts';
import { readFileSync } from 'node:fs';

const file = process.env.SUSPENDED_FILE ?? '';
const realNow = performance.now.bind(performance);
/** What is read once holds for so long, ms: a process that stood still reads it again before it does anything. */
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
