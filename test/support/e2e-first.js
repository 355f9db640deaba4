/**
 * The order of test files where jest knows no durations yet, as on a fresh clone. Jest begins with the longest files
 * then, but those that start processes are short and slow: the last of them would keep one worker busy alone.
 */
import Sequencer from '@jest/test-sequencer';

export default class E2eFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests);
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted;
    const isE2e = ({ path }) => path.includes('/test/e2e/');
    return [...sorted.filter(isE2e), ...sorted.filter((test) => !isE2e(test))];
  }
}
