import { t } from '../../lib/words.ts';
import type {
  SuppressedChannel,
  SuppressionRowFragment,
  SuppressionScope,
  SuppressionSource,
} from './suppressions.generated.ts';

export const SUPPRESSED_CHANNEL_NAMES: Readonly<Record<SuppressedChannel, string>> = {
  SMS: 'SMS',
  EMAIL: t('Email'),
  WHATSAPP: 'WhatsApp',
};
export const SCOPE_NAMES: Readonly<Record<SuppressionScope, string>> = {
  MARKETING: t('Marketing'),
  ALL: t('All messages'),
};
/** Who asked for an opt-out. */
export const SOURCE_TEXTS: Readonly<Record<SuppressionSource, string>> = {
  STOP: t('replied STOP'),
  LINK: t('opt-out link'),
  BOUNCE: t('mail server does not know it'),
  PERSON: t('entered by a person of this account'),
  API: t('entered with an API key'),
  IMPORT: t('from a file'),
  COMPLAINT: t('reported as spam'),
};

/** Why an opt-out should stay. Those that the account entered itself need no warning. */
const WARNINGS: Readonly<Partial<Record<SuppressionSource, string>>> = {
  STOP: t('This person replied STOP. Only they should take it back: they reply START.'),
  LINK: t('This person used the opt-out link. Remove it only if they asked you for messages again.'),
  BOUNCE: t('The mail server said that there is no such mailbox. Remove it only if the mailbox exists now.'),
  COMPLAINT: t('This person reported an email as spam. Remove it only if they asked you for messages again.'),
};

/** Returns what the removal of an opt-out means, and undefined or a warning. */
export function removalOf({ channel, scope, source }: SuppressionRowFragment): {
  readonly meaning: string;
  readonly warning: string | undefined;
} {
  return {
    meaning:
      scope === 'ALL'
        ? t('From the next send on, this address gets all messages of this account by {channel} again.', {
            channel: SUPPRESSED_CHANNEL_NAMES[channel],
          })
        : t('From the next send on, this address gets marketing of this account by {channel} again.', {
            channel: SUPPRESSED_CHANNEL_NAMES[channel],
          }),
    warning: WARNINGS[source],
  };
}
