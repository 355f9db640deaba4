import { parseMailbox } from '../../domain/messages/email-address.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { EmailSubmission, Provider } from '../../domain/ports/provider.ts';
import type { Route } from '../routing.ts';
import { AcceptedCopies } from './accepted-copies.ts';
import type { DkimSigning } from './dkim.ts';
import { EmailSimulator } from './email-simulator.ts';
import { SmtpProvider } from './smtp-provider.ts';

export interface EmailContext {
  /** EMAIL_FROM. Its domain is also the domain of Message-IDs. */
  readonly defaultFrom: string;
  /** How to sign mails. Undefined: they are not signed. */
  readonly dkim?: DkimSigning | undefined;
  readonly logger: Logger;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

/**
 * Returns the email route that EMAIL_URL configures. Its providers are in the order of failover. Without a URL, returns
 * an empty list.
 */
export function emailRoutes(
  urls: readonly string[],
  { defaultFrom, dkim, logger, now }: EmailContext,
): Route[] {
  if (urls.length === 0) return [];
  const messageIdDomain = parseMailbox(defaultFrom)?.address.split('@').at(-1) ?? 'localhost';
  const acceptedCopies = new AcceptedCopies();
  const providers = [...new Set(urls)].map(
    (url): Provider<EmailSubmission> =>
      url === 'simulator:'
        ? new EmailSimulator()
        : new SmtpProvider({ url, logger, messageIdDomain, acceptedCopies, dkim, now }),
  );
  return [{ channel: 'email', prefix: '', providers }];
}
