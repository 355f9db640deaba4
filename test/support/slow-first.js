/**
 * Sorts test files for a fresh clone, where jest knows no durations yet. Slow files come first: a slow file that starts
 * last would keep one worker busy while the others have nothing to do.
 */
import Sequencer from '@jest/test-sequencer';

/** The test files that take 20 s or more. */
const SLOW =
  /\/test\/(contract\/(hostile-texts|cli)|e2e|console|guides\/(samples|pages)|sdk\/(python|quickstart|retries)|contract\/(webhook-deliveries|corpus-inputs|config)|integration\/(smpp-carrier|queue|embedded-postgres))/;

export default class SlowFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const isSlow = ({ path }) => SLOW.test(path);
    return [...sorted.filter(isSlow), ...sorted.filter((test) => !isSlow(test))];
  }
}
