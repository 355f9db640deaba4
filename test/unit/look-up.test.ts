import { describe, expect, it } from '@jest/globals';
import { maskAddress, maskText } from '../../src/domain/platform/look-up.ts';

describe('masks of a look-up (R516)', () => {
  it('keep the last three digits of a number and the domain of an email address', () => {
    expect(maskAddress('+256700120001')).toBe('…001');
    expect(maskAddress('amina@shop.example')).toBe('…@shop.example');
  });

  it('hide numbers and email addresses in texts of providers, and keep codes', () => {
    expect(maskText('550 5.1.1 <amina@shop.example>: no such user')).toBe(
      '550 5.1.1 <…@shop.example>: no such user',
    );
    expect(maskText('Number +256 700 120 001 is barred (error 1024)')).toBe(
      'Number …001 is barred (error 1024)',
    );
  });

  it('keep times, which are no numbers', () => {
    const texts = [
      'Quiet hours of its number end at 2026-11-27T05:00:00.000Z, after its deadline.',
      'Next try at 2026-11-27T05:00Z.',
    ];
    expect(texts.map(maskText)).toEqual(texts);
    expect(maskText('+256700120001 until 2026-11-27T05:00:00Z')).toBe('…001 until 2026-11-27T05:00:00Z');
  });
});
