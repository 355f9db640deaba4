import { SimulatorCarrier } from '../../src/channels/sms/simulator-carrier.ts';
import { CloudApiProvider } from '../../src/channels/whatsapp/cloud-api-provider.ts';
import type { Submission, WhatsAppSubmission } from '../../src/domain/ports/provider.ts';
import { CLOUD_API, type CloudApiAnswer, refused, startCloudApi, taken } from '../support/cloud-api.ts';
import { silentLogger } from '../support/database.ts';
import { describeProvider, type Treatment } from '../support/provider-conformance.ts';

const content = {
  to: '+256700123456',
  content: { type: 'text', body: 'Hello', previewUrl: false },
} as const satisfies Partial<WhatsAppSubmission>;

describeProvider<WhatsAppSubmission>(
  'The Cloud API',
  async () => {
    let treatment: Treatment = 'accept';
    const platform = await startCloudApi((request, count): CloudApiAnswer | 'hang' | 'reset' => {
      switch (treatment) {
        case 'accept':
          return taken(request.body.to, `wamid.${count}`);
        case 'reject':
          return refused(400, 131026, 'Message undeliverable');
        case 'throttle':
          return refused(429, 130429, 'Rate limit hit');
        case 'silent':
          return 'hang';
        case 'down':
          return 'reset';
      }
    });
    return {
      provider: new CloudApiProvider({ ...CLOUD_API, baseUrl: platform.url, timeoutMs: 2_000 }),
      content,
      arrange(next) {
        treatment = next;
        return undefined;
      },
      reached: () => platform.requests.length,
      connections: platform.connections,
      stop: platform.stop,
    };
  },
  { asksBeforeLeaving: true },
);

describeProvider<Submission>(
  'The WhatsApp simulator',
  async () => ({
    provider: new SimulatorCarrier(silentLogger, { name: 'whatsapp-simulator', tellsRead: true }),
    content: { to: '+256700123456' },
    arrange(treatment) {
      return {
        to: `+25670012${treatment === 'reject' ? '0001' : treatment === 'throttle' ? '0003' : '3456'}`,
      };
    },
    reached: () => 0,
    connections: () => 0,
    reportDelivered: () => undefined,
    stop: async () => undefined,
  }),
  { treatments: ['accept', 'reject', 'throttle'], isRepeatKnown: true, reports: true },
);
