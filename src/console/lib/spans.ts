import { t } from './words.ts';

/** The periods that lists and figures offer, by the name that the URL has. */
export const PRESETS = [
  { value: 'today', label: t('Today') },
  { value: 'yesterday', label: t('Yesterday') },
  { value: '7d', label: t('Last 7 days') },
  { value: '30d', label: t('Last 30 days') },
  { value: 'month', label: t('This month') },
  { value: 'last-month', label: t('Last month') },
] as const;

/**
 * Returns the bounds of a preset at the time `now`, in the browser's time zone. `to` is the last moment of the period,
 * or undefined if the period includes now. Returns undefined for any other name.
 */
export function presetSpan(
  name: string,
  now: Date,
): { readonly from: string; readonly to?: string | undefined } | undefined {
  const [year, month, date] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const at = (start: Date, end?: Date) => ({
    from: start.toISOString(),
    to: end && new Date(end.getTime() - 1).toISOString(),
  });
  switch (name) {
    case 'today':
      return at(new Date(year, month, date));
    case 'yesterday':
      return at(new Date(year, month, date - 1), new Date(year, month, date));
    case '7d':
      return at(new Date(year, month, date - 6));
    case '30d':
      return at(new Date(year, month, date - 29));
    case 'month':
      return at(new Date(year, month, 1));
    case 'last-month':
      return at(new Date(year, month - 1, 1), new Date(year, month, 1));
    default:
      return undefined;
  }
}
