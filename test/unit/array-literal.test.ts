import { describe, expect, it } from '@jest/globals';
import { arrayLiteral } from '../../src/storage/postgres/array-literal.ts';

describe('arrayLiteral', () => {
  it.each([
    ['nothing', [], '{}'],
    ['numbers, booleans and nulls', [1, -2.5, true, null, undefined], '{1,-2.5,true,null,null}'],
    ['strings', ['a', '', 'null', 'a b', '{,}'], '{"a","","null","a b","{,}"}'],
    ['quotes and backslashes', ['say "hi"', 'C:\\new'], '{"say \\"hi\\"","C:\\\\new"}'],
    ['control characters', ['two\nlines', null, 'a"\t\\n'], '{"two\nlines",null,"a\\"\t\\\\n"}'],
    ['times', [new Date(0)], '{"1970-01-01T00:00:00.000Z"}'],
    ['times and nulls', [null, new Date(1_007), null], '{null,"1970-01-01T00:00:01.007Z",null}'],
  ])('writes %s', (_, values, text) => {
    expect(arrayLiteral(values)).toBe(text);
  });
});
