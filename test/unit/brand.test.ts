import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { accentStyles } from '../../src/rest/pages/brand.ts';
import { contrast, mix, READABLE, readable } from '../../src/runtime/colour.ts';

const colours = fc
  .integer({ min: 0, max: 0xff_ff_ff })
  .map((value) => `#${value.toString(16).padStart(6, '0')}`);
/** Backgrounds of the console (tokens.css) on which text has the accent colour. */
const BACKGROUNDS = [
  ['#f7f8fa', '#ffffff', '#eef0f4'],
  ['#0f1217', '#171b22', '#20252e'],
] as const;

describe('the contrast of colours (R461)', () => {
  it.each([
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#ffffff', 1],
    ['#767676', '#ffffff', 4.54],
    ['#ffffff', '#ff0000', 3.99],
  ])('of %s and %s is %d', (one, other, expected) => {
    expect(contrast(one, other)).toBeCloseTo(expected, 1);
    expect(contrast(other, one)).toBe(contrast(one, other));
  });

  it('mixes colours by their parts', () => {
    expect(mix('#ff0000', '#0000ff', 0.5)).toBe('#800080');
    expect(mix('#123456', '#ffffff', 1)).toBe('#123456');
  });

  it('leaves a colour that is readable as it is', () => {
    expect(readable('#2257c5', '#000000', ['#ffffff'])).toBe('#2257c5');
  });

  it('makes every accent readable in both themes, on its own soft background too', () => {
    fc.assert(
      fc.property(colours, (accent) => {
        const [accents, on, soft] = [
          ...accentStyles(accent).matchAll(/light-dark\((#\w{6}), (#\w{6})\)/g),
        ].map(([, light, dark]) => [light!, dark!]);
        for (const theme of [0, 1]) {
          const text = accents![theme]!;
          for (const background of [...BACKGROUNDS[theme]!, soft![theme]!, on![theme]!]) {
            expect(contrast(text, background)).toBeGreaterThanOrEqual(READABLE);
          }
        }
      }),
    );
  });
});
