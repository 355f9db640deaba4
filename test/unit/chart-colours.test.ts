import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

type Triple = readonly [number, number, number];

const TOKENS = readFileSync('src/console/ui/tokens.css', 'utf8');
const THEMES = ['light', 'dark'] as const;

/**
 * Linear RGB as people with each kind of vision see it: the matrices of Machado, Oliveira and Fernandes (2009) for the
 * complete lack of one kind of cones.
 */
const VISIONS: Readonly<Record<string, readonly [Triple, Triple, Triple]>> = {
  all: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
/** Least distance of two series in CIE Lab. Two colours that differ by 2 look the same beside each other. */
const DISTANCE_MIN = 20;
/** Least contrast of a mark with its surface (WCAG 2.2, 1.4.11). */
const CONTRAST_MIN = 3;

/** The linear RGB of a colour of the tokens in a theme. */
function colourOf(name: string, theme: (typeof THEMES)[number]): Triple {
  const [, ...values] = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\);`).exec(TOKENS) ?? [];
  const hex = values[THEMES.indexOf(theme)];
  if (hex === undefined) throw new Error(`tokens.css has no ${name}`);
  const part = (at: number) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

const sum = ([a, b, c]: Triple, [x, y, z]: Triple) => a * x + b * y + c * z;

function labOf(rgb: Triple): Triple {
  const root = (value: number) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
  const x = root(sum([0.4124, 0.3576, 0.1805], rgb) / 0.95047);
  const y = root(sum([0.2126, 0.7152, 0.0722], rgb));
  const z = root(sum([0.0193, 0.1192, 0.9505], rgb) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

describe.each(THEMES)('the colours of series in charts, %s', (theme) => {
  const names = [1, 2, 3, 4, 5].map((number) => `chart-${number}`);

  it.each(Object.entries(VISIONS))('differ from each other: vision %s', (_, matrix) => {
    const seen = names.map((name) => {
      const rgb = colourOf(name, theme);
      const [red, green, blue] = matrix.map((row) => Math.min(1, Math.max(0, sum(row, rgb))));
      return labOf([red!, green!, blue!]);
    });
    const close = seen.flatMap((one, index) =>
      seen.slice(index + 1).flatMap((other, later) => {
        const distance = Math.hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]);
        return distance < DISTANCE_MIN
          ? [`${names[index]} and ${names[index + 1 + later]}: ${distance}`]
          : [];
      }),
    );
    expect(close).toEqual([]);
  });

  it('stand out from their surface', () => {
    const light = (name: string) => sum([0.2126, 0.7152, 0.0722], colourOf(name, theme)) + 0.05;
    const surface = light('surface');
    const faint = names.filter((name) => {
      const mark = light(name);
      return Math.max(mark, surface) / Math.min(mark, surface) < CONTRAST_MIN;
    });
    expect(faint).toEqual([]);
  });
});
