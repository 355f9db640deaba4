import { describe, expect, it } from '@jest/globals';
import { quote, truncate, truncateQuotes } from '../../src/domain/text.ts';

describe('what messages quote of a value', () => {
  it('is at most 100 characters, and no half of a pair', () => {
    expect(truncate('a'.repeat(100))).toBe('a'.repeat(100));
    expect(truncate('a'.repeat(101))).toBe(`${'a'.repeat(100)}…`);
    expect(truncate(`${'a'.repeat(99)}\u{1f600}b`)).toBe(`${'a'.repeat(99)}…`);
    expect(quote('say "no"')).toBe('"say \\"no\\""');
  });

  const long = 'x'.repeat(5_000);
  const short = `${'x'.repeat(100)}…`;
  it.each([
    [
      `Value "${long}" does not exist in "Channel" enum.`,
      `Value "${short}" does not exist in "Channel" enum.`,
    ],
    [`Syntax Error: Unexpected Name ${long}.`, `Syntax Error: Unexpected Name ${short}`],
    [`found {a: "}", b: [${long}]}, and more`, /^found \{a: "\}", b: \[x{80,90}…, and more$/],
    [`a quote \\"${long}" that ${long}`, /^a quote \\"x{100}…" that x{100}…$/],
    [`never "closed${long}`, /^never "closedx+…$/],
    [`${'{'.repeat(5_000)}`, `${'{'.repeat(100)}…`],
    [
      'String cannot represent a non string value: [1, 2]',
      'String cannot represent a non string value: [1, 2]',
    ],
  ])('is cut out of the message of a library', (message, expected) => {
    if (typeof expected === 'string') expect(truncateQuotes(message)).toBe(expected);
    else expect(truncateQuotes(message)).toMatch(expected);
  });

  it('leaves no message longer than a screen', () => {
    expect(truncateQuotes('word '.repeat(10_000)).length).toBeLessThanOrEqual(1_001);
  });
});
