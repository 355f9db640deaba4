import { parseMailbox } from '../../domain/messages/email-address.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { EmailSubmission, Provider } from '../../domain/ports/provider.ts';
import type { Route } from '../routing.ts';
import type { DkimSigning } from './dkim.ts';
import { EmailSimulator } from './email-simulator.ts';
import { SmtpProvider } from './smtp-provider.ts';
import { TakenCopies } from './taken-copies.ts';

export interface EmailContext {
  /** EMAIL_FROM, whose domain Message-IDs have too. */
  readonly defaultFrom: string;
  /** What mails are signed with; undefined where they leave unsigned. */
  readonly dkim?: DkimSigning | undefined;
  readonly logger: Logger;
  /** The time that deadlines are kept by; the process's when absent. */
  readonly now?: (() => Date) | undefined;
}

/** The email route of the configuration (EMAIL_URL), in the order of failover; none when no URL is given. */
export function emailRoutes(
  urls: readonly string[],
  { defaultFrom, dkim, logger, now }: EmailContext,
): Route[] {
  if (urls.length === 0) return [];
  const messageIdDomain = parseMailbox(defaultFrom)?.address.split('@').at(-1) ?? 'localhost';
  const takenCopies = new TakenCopies();
  const providers = [...new Set(urls)].map(
    (url): Provider<EmailSubmission> =>
      url === 'simulator:'
        ? new EmailSimulator()
        : new SmtpProvider({ url, logger, messageIdDomain, takenCopies, dkim, now }),
  );
  return [{ channel: 'email', prefix: '', providers }];
}
