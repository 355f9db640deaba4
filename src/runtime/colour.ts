/** Colours of sRGB as `#rrggbb`, and the contrast between them as WCAG 2 defines it. */

type Channels = readonly [red: number, green: number, blue: number];

/** Contrast that text needs against its background (WCAG 2, level AA). */
export const READABLE = 4.5;
/** Part by which `readable` moves a colour in one step. */
const STEP = 0.05;

const channelsOf = (colour: string): Channels => {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
};

function luminance(colour: string): number {
  const [red, green, blue] = channelsOf(colour).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as unknown as Channels;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Returns the contrast of two colours, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((left, right) => right - left) as [
    number,
    number,
  ];
  return (light + 0.05) / (dark + 0.05);
}

/** Mixes two colours. `part` is the part of `one`, from 0 to 1. */
export function mix(one: string, other: string, part: number): string {
  const others = channelsOf(other);
  const mixed = channelsOf(one).map((channel, index) =>
    Math.round(channel * part + (others[index] ?? 0) * (1 - part)),
  );
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

/** Returns the colour nearest to `colour`, on the way to `end`, that is readable on all `backgrounds`. */
export function readable(colour: string, end: '#000000' | '#ffffff', backgrounds: readonly string[]): string {
  for (let part = 1; part > 0; part -= STEP) {
    const mixed = mix(colour, end, part);
    if (backgrounds.every((background) => contrast(mixed, background) >= READABLE)) return mixed;
  }
  return end;
}
