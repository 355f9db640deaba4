import { t } from '../../lib/words.ts';
import type { Platform } from './devices.generated.ts';

export const PLATFORM_NAMES: Readonly<Record<Platform, string>> = {
  ANDROID: 'Android',
  IOS: 'iOS',
  WEB: t('Web'),
};
