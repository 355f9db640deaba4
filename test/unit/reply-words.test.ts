import { describe, expect, it } from '@jest/globals';
import { replyWord } from '../../src/domain/suppressions/reply-words.ts';

describe('the words of a reply (R379)', () => {
  it.each([
    ['stop', 'stop'],
    [' Stop!! ', 'stop'],
    ['STOP ALL', 'stop'],
    ['Arrêt', 'stop'],
    ['“Simama.”', 'stop'],
    ['stop \u{1F64F}', 'stop'],
    ['Start', 'start'],
    ['Aide ?', 'help'],
  ])('%j asks for %s', (text, word) => {
    expect(replyWord(text)).toBe(word);
  });

  it.each([['CANCEL 4521'], ['1 end'], ['Info 3'], ["don't stop"], ['стоп STOP'], [''], ['7'], [null]])(
    '%j is no reply',
    (text) => {
      expect(replyWord(text)).toBeUndefined();
    },
  );
});
