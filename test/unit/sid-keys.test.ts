import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sidCandidates, sidKey } from '../../src/domain/messages/sid-keys.ts';

describe('matching of sids (R15)', () => {
  it.each([
    ['the same id', '4F2A', '4F2A'],
    ['other case', '4f2a', '4F2A'],
    ['leading zeros in the report', '123', '0000000123'],
    ['leading zeros in the answer', '00000123', '123'],
    ['hexadecimal answer, decimal report', '1A2B3C4D', '439041101'],
    ['decimal answer, hexadecimal report', '439041101', '1a2b3c4d'],
    ['hexadecimal with zeros, decimal report', '001A2B3C4D', '439041101'],
    ['a name that is no number', 'Abc-77_x', 'abc-77_X'],
  ])('finds %s', (_name, answered, reported) => {
    expect(sidCandidates(reported)).toContain(sidKey(answered));
  });

  it('does not match another id', () => {
    expect(sidCandidates('124')).not.toContain(sidKey('123'));
    expect(sidCandidates('abc-1')).toEqual(['abc-1']);
  });

  it('finds every number in decimal or hexadecimal, and prefers the literal reading', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), (number) => {
        const decimal = number.toString(10);
        const hexadecimal = number.toString(16).toUpperCase();
        expect(sidCandidates(decimal)).toContain(sidKey(hexadecimal));
        expect(sidCandidates(hexadecimal)).toContain(sidKey(decimal));
        expect(sidCandidates(decimal)[0]).toBe(sidKey(decimal));
      }),
    );
  });
});
