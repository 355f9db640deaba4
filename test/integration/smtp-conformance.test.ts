import { EmailSimulator } from '../../src/channels/email/email-simulator.ts';
import { SmtpProvider } from '../../src/channels/email/smtp-provider.ts';
import type { EmailSubmission } from '../../src/domain/ports/provider.ts';
import { silentLogger } from '../support/database.ts';
import { startMailServer } from '../support/mail-server.ts';
import { describeProvider } from '../support/provider-conformance.ts';

const content = {
  to: 'ann@example.com',
  from: 'shop@example.com',
  subject: 'Hello',
  body: async () => ({ text: 'Hello', html: null, attachments: [] }),
  replyTo: undefined,
  cc: [],
  bcc: [],
  headers: {},
} satisfies Partial<EmailSubmission>;

describeProvider<EmailSubmission>(
  'SMTP',
  async () => {
    const login = { user: 'gateway', password: 'secret' };
    const server = await startMailServer({ login });
    const url = `smtp://gateway:secret@127.0.0.1:${server.port}`;
    const timing = { silenceTimeoutMs: 2_000 };
    return {
      provider: new SmtpProvider({ url, logger: silentLogger, messageIdDomain: 'example.com', timing }),
      content,
      arrange(treatment) {
        server.behave({
          isGone: treatment === 'down',
          data: treatment === 'silent' ? 'silent' : 'accept',
          rcpt: () => (treatment === 'reject' ? 550 : treatment === 'throttle' ? 451 : 'accept'),
        });
        if (treatment === 'down') server.cutAll();
        return undefined;
      },
      reached: () => server.begun(),
      connections: server.connections,
      stop: server.stop,
    };
  },
  { isRepeatKnown: true, asksBeforeLeaving: true },
);

describeProvider<EmailSubmission>(
  'The email simulator',
  async () => {
    return {
      provider: new EmailSimulator(),
      content,
      arrange: (treatment) =>
        treatment === 'accept'
          ? {}
          : { to: treatment === 'reject' ? 'ann0001@example.com' : 'ann0003@example.com' },
      reached: () => 0,
      connections: () => 0,
      stop: async () => undefined,
    };
  },
  { treatments: ['accept', 'reject', 'throttle'], isRepeatKnown: true },
);
