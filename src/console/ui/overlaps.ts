/** How long what a rotation replaces stays valid, in seconds, as options of a `Select`. */
export const OVERLAPS = [
  { value: '86400', label: 'one day' },
  { value: '3600', label: 'one hour' },
  { value: '604800', label: 'one week' },
  { value: '0', label: 'not at all: it ends at once' },
] as const;
