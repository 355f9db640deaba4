import { CHANNELS } from '../messages/message.ts';
import { eventEnvelope } from './event.ts';
import { EVENT_TYPES, type EventType } from './webhook.ts';

/** The channels that an event can belong to. Events about webhooks, accounts and senders belong to `system`. */
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
const alert = { alertId: SAMPLE_ID, state: 'open', openedAt: SAMPLE_TIME.toISOString(), resolvedAt: null };
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
  'account.balance_low': {
    channel: 'system',
    description:
      'The balance lasts less than three days, or the days that the alert rule says, at the current rate. Sent once when it begins (`state` is `open`), and once when it ends (`resolved`).',
    data: {
      ...alert,
      balance: 12_000,
      currency: 'UGX',
      spendPerDay: 8_500,
      daysLeft: 1.41,
    },
  },
  'account.limit_near': {
    channel: 'system',
    description:
      'Of a send limit of the account or of a key, 80 %, or the part that the alert rule says, is used. Sent once when it begins (`state` is `open`), and once when it ends (`resolved`).',
    data: {
      ...alert,
      limit: 'spendPerDay',
      of: 'key',
      keyId: '9f1c2d3e4a5b6c7d',
      maximum: 10_000,
      used: 8_100,
      percent: 81,
      currency: 'UGX',
      resetsAt: '2026-12-02T00:00:00.000Z',
    },
  },
  'webhook.failing': {
    channel: 'system',
    description:
      'Another webhook of the account has been failing for 15 minutes, or the minutes that the alert rule says (`reason` is `failing`), or the gateway has switched it off (`switched_off`). It is not sent to the failing webhook. Sent once when it begins (`state` is `open`), and once when it ends (`resolved`).',
    data: {
      ...alert,
      reason: 'failing',
      webhookId: SAMPLE_ID,
      url: 'https://hooks.example.com/gateway',
      failingSince: '2026-12-01T09:14:00.000Z',
      disabledReason: null,
    },
  },
  'sender.reviewed': {
    channel: 'system',
    description:
      'A sender was approved or rejected: a sender ID by the operator, or a domain by its DNS record. `pending`: the record is gone.',
    data: {
      id: SAMPLE_ID,
      channel: 'sms',
      senderId: 'MANGOES',
      domain: null,
      status: 'approved',
      note: null,
    },
  },
};

/** Event types that belong to no message. */
const WITHOUT_MESSAGE: ReadonlySet<EventType> = new Set([
  'webhook.test',
  'account.balance_low',
  'account.limit_near',
  'webhook.failing',
  'sender.reviewed',
]);

export const EVENT_CATALOG: readonly EventDescription[] = EVENT_TYPES.map((type) => {
  const { channel, description, data } = DOCUMENTATION[type];
  const messageId = WITHOUT_MESSAGE.has(type) ? null : SAMPLE_ID;
  const body = eventEnvelope({ type, channel, messageId, recordedAt: SAMPLE_TIME, data });
  return { event: type, channel, description, sample: JSON.parse(body) };
});
