import { createAfricasTalkingCarrier } from '../../src/channels/sms/africastalking-carrier.ts';
import { SimulatorCarrier } from '../../src/channels/sms/simulator-carrier.ts';
import { createSmppCarrier } from '../../src/channels/sms/smpp/smpp-carrier.ts';
import { createTwilioCarrier } from '../../src/channels/sms/twilio-carrier.ts';
import type { SmsSubmission } from '../../src/domain/ports/provider.ts';
import { silentLogger } from '../support/database.ts';
import { describeProvider } from '../support/provider-conformance.ts';
import { africasTalkingAnswer, startSmsApi, twilioAnswer, twilioError } from '../support/sms-api.ts';
import { startSmsc } from '../support/smsc.ts';

const content = { to: '+256700123456', text: 'Hello', encoding: 'GSM-7', segments: 1 } as const;
const TIMEOUT_MS = 2_000;

describeProvider<SmsSubmission>(
  'SMPP',
  async () => {
    const smsc = await startSmsc({ systemId: 'gateway', password: 'secret' });
    const url = `smpp://gateway:secret@127.0.0.1:${smsc.port}`;
    const timing = { submitTimeoutMs: TIMEOUT_MS, reconnectMinMs: 10, reconnectMaxMs: 20, stopGraceMs: 500 };
    return {
      provider: createSmppCarrier({ url, logger: silentLogger, timing }),
      content,
      arrange(treatment) {
        const answers = {
          accept: 'accept',
          reject: 0x0b,
          throttle: 'throttle',
          silent: 'silent',
          down: 'drop',
        } as const;
        smsc.behave({ answer: answers[treatment] });
        return undefined;
      },
      reached: () => smsc.received.length,
      connections: () => smsc.boundCount,
      reportDelivered: (sid) => smsc.report(sid, '256700123456', 'ACME', { form: 'text' }),
      stop: () => smsc.stop(),
    };
  },
  { reports: true, asksBeforeLeaving: true },
);

describeProvider<SmsSubmission>(
  'The SMS simulator (R226)',
  async () => ({
    provider: new SimulatorCarrier(silentLogger),
    content,
    arrange: (treatment) =>
      treatment === 'accept' ? {} : { to: treatment === 'reject' ? '+256700000001' : '+256700000003' },
    reached: () => 0,
    connections: () => 0,
    reportDelivered: () => undefined,
    stop: async () => undefined,
  }),
  { treatments: ['accept', 'reject', 'throttle'], isRepeatKnown: true, reports: true },
);

describeProvider<SmsSubmission>(
  'Africa’s Talking',
  async () => {
    let sids = 0;
    const api = await startSmsApi(({ form }) => {
      sids += 1;
      return africasTalkingAnswer(form.get('to') ?? '', 101, 'Success', `ATXid_${sids}`);
    });
    const url = `africastalking://gateway:secret@${api.host}`;
    const accept = ({ form }: { form: URLSearchParams }) => {
      sids += 1;
      return africasTalkingAnswer(form.get('to') ?? '', 101, 'Success', `ATXid_${sids}`);
    };
    return {
      provider: createAfricasTalkingCarrier({ url, timeoutMs: TIMEOUT_MS }),
      content,
      arrange(treatment) {
        api.beGone(treatment === 'down');
        api.answerWith((request) => {
          if (treatment === 'accept') return accept(request);
          if (treatment === 'reject') return africasTalkingAnswer('+256700123456', 403, 'InvalidPhoneNumber');
          if (treatment === 'throttle')
            return { status: 429, body: 'Too many requests', headers: { 'retry-after': '7' } };
          return 'silent';
        });
        return undefined;
      },
      reached: () => api.requests.length,
      connections: api.connections,
      stop: api.stop,
    };
  },
  { asksBeforeLeaving: true },
);

describeProvider<SmsSubmission>(
  'Twilio',
  async () => {
    let sids = 0;
    const api = await startSmsApi(({ form }) => twilioAnswer(form, 'SM0'));
    const url = `twilio://AC0123:secret@${api.host}`;
    return {
      provider: createTwilioCarrier({ url, publicUrl: 'https://gateway.example', timeoutMs: TIMEOUT_MS }),
      content,
      arrange(treatment) {
        api.beGone(treatment === 'down');
        api.answerWith(({ form }) => {
          if (treatment === 'accept') {
            sids += 1;
            return twilioAnswer(form, `SM${sids}`);
          }
          if (treatment === 'reject') return twilioError(400, 21211, "Invalid 'To' Phone Number");
          if (treatment === 'throttle') return twilioError(429, 20429, 'Too Many Requests');
          return 'silent';
        });
        return undefined;
      },
      reached: () => api.requests.length,
      connections: api.connections,
      stop: api.stop,
    };
  },
  { asksBeforeLeaving: true },
);
