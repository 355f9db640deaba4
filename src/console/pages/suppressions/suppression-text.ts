import type {
  SuppressedChannel,
  SuppressionRowFragment,
  SuppressionScope,
  SuppressionSource,
} from './suppressions.generated.ts';

export const SUPPRESSED_CHANNEL_NAMES: Readonly<Record<SuppressedChannel, string>> = {
  SMS: 'SMS',
  EMAIL: 'Email',
  WHATSAPP: 'WhatsApp',
};
export const SCOPE_NAMES: Readonly<Record<SuppressionScope, string>> = {
  MARKETING: 'Marketing',
  ALL: 'All messages',
};
/** Who asked for an opt-out. */
export const SOURCE_TEXTS: Readonly<Record<SuppressionSource, string>> = {
  STOP: 'replied STOP',
  LINK: 'opt-out link',
  BOUNCE: 'mail server does not know it',
  PERSON: 'entered by a person of this account',
  API: 'entered with an API key',
  IMPORT: 'from a file',
};

/** Why an opt-out should stay. Those that the account entered itself need no warning. */
const WARNINGS: Readonly<Partial<Record<SuppressionSource, string>>> = {
  STOP: 'This person replied STOP. Only they should take it back: they reply START.',
  LINK: 'This person used the opt-out link. Remove it only if they asked you for messages again.',
  BOUNCE: 'The mail server said that there is no such mailbox. Remove it only if the mailbox exists now.',
};

/** Returns what the removal of an opt-out means, and undefined or a warning. */
export function removalOf({ channel, scope, source }: SuppressionRowFragment): {
  readonly meaning: string;
  readonly warning: string | undefined;
} {
  const what = scope === 'ALL' ? 'all messages' : 'marketing';
  return {
    meaning: `From the next send on, this address gets ${what} of this account by ${SUPPRESSED_CHANNEL_NAMES[channel]} again.`,
    warning: WARNINGS[source],
  };
}
