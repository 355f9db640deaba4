import { CHANNELS } from '../messages/message.ts';
import { eventEnvelope } from './event.ts';
import { EVENT_TYPES, type EventType } from './webhook.ts';

/** The channels that an event can belong to. Events about webhooks belong to `system`. */
export const EVENT_CHANNELS = [...CHANNELS, 'system'] as const;
export type EventChannel = (typeof EVENT_CHANNELS)[number];

/** The documentation of an event type, written for subscribers (R28). */
export interface EventDescription {
  readonly event: EventType;
  readonly channel: EventChannel;
  readonly description: string;
  /** A sample of the envelope, the JSON that a receiver gets. */
  readonly sample: Readonly<Record<string, unknown>>;
}

type EventDocumentation = Pick<EventDescription, 'channel' | 'description'> & {
  data: Readonly<Record<string, unknown>>;
};

const SAMPLE_ID = '01939f5e-7a00-7000-8000-000000000001';
const SAMPLE_TIME = new Date('2026-12-01T09:30:00.000Z');
const sms = { to: '+256700123456', from: 'ACME', message: 'Your code is 4711' };
const email = { to: 'ann@example.com', from: 'no-reply@example.com', subject: 'Your receipt' };
const push = { to: ['customer-4711'], title: 'Parcel', message: 'Your parcel is here' };
const pushFailure = { error: 'FCM says that the token is no longer registered.', errorCode: 'unregistered' };
const whatsapp = {
  to: '+256700123456',
  from: 'ACME',
  message: 'order_shipped',
  sid: 'wamid.HBgMMjU2NzAwMTIzNDU2',
};
const failure = { error: 'Rejected', errorCode: 'rejected', stage: 'submission', permanent: true };

const DOCUMENTATION: Readonly<Record<EventType, EventDocumentation>> = {
  'sms.sent': {
    channel: 'sms',
    description: 'An SMS was accepted by the carrier. It may not have reached the recipient yet.',
    data: { ...sms, sid: '8f1c2d3e' },
  },
  'sms.failed': {
    channel: 'sms',
    description: 'An SMS could not be sent, or the carrier reported that it could not be delivered.',
    data: { ...sms, ...failure, error: 'The carrier rejected the number', errorCode: 'invalid_number' },
  },
  'email.sent': {
    channel: 'email',
    description: 'An email was handed to the mail provider.',
    data: { ...email, sid: '<20261201093000.1@example.com>' },
  },
  'email.failed': {
    channel: 'email',
    description: 'An email could not be sent.',
    data: { ...email, ...failure, error: '550 5.1.1 no such user', errorCode: 'mailbox_refused' },
  },
  'push.sent': {
    channel: 'push',
    description: 'A push notification reached every target device.',
    data: {
      ...push,
      devicesTargeted: 2,
      devicesReached: 2,
      devicesFailed: 0,
      devicesRemoved: 0,
      failures: [],
    },
  },
  'push.partial': {
    channel: 'push',
    description: 'A push notification reached some of the target devices.',
    data: {
      ...push,
      devicesTargeted: 2,
      devicesReached: 1,
      devicesFailed: 1,
      devicesRemoved: 1,
      ...pushFailure,
      failures: [{ deviceId: SAMPLE_ID, ...pushFailure }],
    },
  },
  'push.failed': {
    channel: 'push',
    description: 'A push notification reached no device.',
    data: {
      ...push,
      devicesTargeted: 1,
      devicesReached: 0,
      devicesFailed: 1,
      devicesRemoved: 1,
      ...pushFailure,
      failures: [{ deviceId: SAMPLE_ID, ...pushFailure }],
    },
  },
  'whatsapp.delivered': {
    channel: 'whatsapp',
    description: 'A WhatsApp message was delivered, as the platform reports.',
    data: whatsapp,
  },
  'whatsapp.read': {
    channel: 'whatsapp',
    description: 'A WhatsApp message was read by the recipient.',
    data: { ...whatsapp, readAt: SAMPLE_TIME.toISOString() },
  },
  'whatsapp.failed': {
    channel: 'whatsapp',
    description: 'A WhatsApp message could not be delivered.',
    data: {
      ...whatsapp,
      ...failure,
      error: 'WhatsApp says 131026: Message undeliverable',
      errorCode: 'undeliverable',
    },
  },
  'webhook.test': {
    channel: 'system',
    description: 'Sent by the test operation. It goes to the tested endpoint only, subscribed or not.',
    data: { webhookId: SAMPLE_ID, message: 'This is a test of your webhook endpoint.' },
  },
};

export const EVENT_CATALOG: readonly EventDescription[] = EVENT_TYPES.map((type) => {
  const { channel, description, data } = DOCUMENTATION[type];
  const messageId = type === 'webhook.test' ? null : SAMPLE_ID;
  const body = eventEnvelope({ type, channel, messageId, recordedAt: SAMPLE_TIME, data });
  return { event: type, channel, description, sample: JSON.parse(body) };
});
