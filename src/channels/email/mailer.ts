import type { Mailer } from '../../domain/ports/mailer.ts';
import type { EmailSubmission, Provider, ProviderOutcome } from '../../domain/ports/provider.ts';
import type { Routing } from '../../domain/ports/routing.ts';

/**
 * Sends mails to people who sign in, from EMAIL_FROM. It uses the mail servers that also send the accounts' mails
 * (EMAIL_URL).
 */
export function createMailer(
  { emailUrls, emailFrom: from }: { readonly emailUrls: readonly string[]; readonly emailFrom: string },
  routing: Pick<Routing, 'routeFor' | 'providers'>,
): Mailer {
  // The simulator sends nothing. If it was one of the servers, a failover to it would lose the mail without an error.
  const isConfigured = emailUrls.length > 0 && !emailUrls.includes('simulator:');
  return {
    isConfigured,
    async send({ id, to, subject, text, expiresAt }, signal) {
      const route = isConfigured ? routing.routeFor('email', to) : undefined;
      let outcome: ProviderOutcome = {
        kind: 'unavailable',
        asked: false,
        reason: 'no mail server is configured',
      };
      const submission: EmailSubmission = {
        messageId: id,
        position: 0,
        to,
        from,
        attempt: 0,
        expiresAt,
        subject,
        body: async () => ({ text, html: null, attachments: [] }),
        replyTo: undefined,
        cc: [],
        bcc: [],
        headers: { 'Auto-Submitted': 'auto-generated' },
      };
      for (const provider of route === undefined ? [] : routing.providers(route)) {
        outcome = await (provider as Provider<EmailSubmission>).submit(submission, signal);
        if (outcome.kind !== 'unavailable' || !outcome.definitelyNotSent) return outcome;
      }
      return outcome;
    },
  };
}
