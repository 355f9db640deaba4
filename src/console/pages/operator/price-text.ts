import { t } from '../../lib/words.ts';

/** Returns the destination of a price in words. */
export const whereOf = (prefix: string): string => (prefix === '' ? t('every destination') : `+${prefix}…`);
