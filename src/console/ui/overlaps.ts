import { t } from '../lib/words.ts';

/** How long what a rotation replaces stays valid, in seconds, as options of a `Select`. */
export const OVERLAPS = [
  { value: '86400', label: t('one day') },
  { value: '3600', label: t('one hour') },
  { value: '604800', label: t('one week') },
  { value: '0', label: t('not at all: it ends at once') },
] as const;
