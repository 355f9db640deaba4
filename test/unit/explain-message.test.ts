import { describe, expect, it } from '@jest/globals';
import {
  explainMessage,
  type KnownOfMessage,
  MESSAGE_CAUSES,
  type MessageCause,
  retryable,
} from '../../src/domain/messages/explain-message.ts';
import { type Message, REPORT_DEADLINE_MS, type Recipient } from '../../src/domain/messages/message.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);

const MESSAGE: Message = {
  id: '0197f0a0-0000-7000-8000-000000000001',
  accountId: '0197f0a0-0000-7000-8000-000000000002',
  channel: 'sms',
  environment: 'production',
  seq: 1,
  status: 'pending',
  statusReason: null,
  from: 'SERVICE',
  to: ['+256700000001'],
  sid: null,
  tally: { reached: 0, delivered: 0, failed: 0, unregistered: 0, readAt: null },
  content: 'hello',
  payload: null,
  costMinor: 30,
  unitPriceMinor: 30,
  currency: 'UGX',
  invalidSkipped: 0,
  duplicatesRemoved: 0,
  purpose: 'transactional',
  suppressedSkipped: 0,
  apiKeyId: null,
  userId: null,
  createdAt: at(-10),
  scheduledFor: null,
  heldUntil: null,
  expiresAt: at(24 * 60),
};
const RECIPIENT: Recipient = {
  messageId: MESSAGE.id,
  position: 0,
  address: '+256700000001',
  status: 'pending',
  costMinor: 30,
  provider: null,
  sid: null,
  error: null,
  sentAt: null,
  deliveredAt: null,
  failedAt: null,
  readAt: null,
  isClaimed: true,
  attempts: 0,
  refundDueAt: null,
  heldUntil: null,
};
const accepted = { status: 'sent', sid: 'abc', sentAt: at(-9) } as const;
const failed = (code: string, message: string) =>
  ({ status: 'failed', failedAt: at(-8), error: { code, message } }) as const;

type Case = readonly [
  MessageCause,
  { readonly message?: Partial<Message>; readonly recipient?: Partial<Recipient> },
  { readonly says: string; readonly actions: readonly string[]; readonly isSentAgain?: boolean },
];
const CASES: readonly Case[] = [
  [
    'sandbox',
    { message: { environment: 'sandbox' }, recipient: accepted },
    { says: 'nothing was sent or charged', actions: ['send_again'] },
  ],
  [
    'scheduled',
    { message: { scheduledFor: at(60) }, recipient: { isClaimed: false } },
    { says: 'It waits for its time, 2026-03-01T13:00:00.000Z.', actions: ['wait', 'cancel'] },
  ],
  [
    'held',
    { recipient: { isClaimed: false, heldUntil: at(90), attempts: 1 } },
    {
      says: 'It is marketing, and held until 2026-03-01T13:30:00.000Z: quiet hours in Uganda.',
      actions: ['wait', 'cancel'],
    },
  ],
  [
    'held_for_review',
    { message: { statusReason: 'held_for_review' }, recipient: { isClaimed: false } },
    { says: 'It is not charged until an owner or administrator releases it.', actions: ['wait', 'cancel'] },
  ],
  ['queued', { recipient: { heldUntil: at(-1) } }, { says: 'It waits for its turn', actions: ['wait'] }],
  ['queued', { message: { scheduledFor: at(-1) } }, { says: 'No carrier was asked yet', actions: ['wait'] }],
  [
    'queued',
    { recipient: { isClaimed: false } },
    { says: 'It waits for its turn', actions: ['wait', 'cancel'] },
  ],
  [
    'retrying',
    { recipient: { attempts: 3 } },
    { says: 'tried again until 2026-03-02T12:00:00.000Z', actions: ['wait', 'ask_operator'] },
  ],
  [
    'awaiting_report',
    { recipient: accepted },
    { says: 'No delivery report has come yet', actions: ['wait'] },
  ],
  [
    'delivery_unconfirmed',
    { message: { statusReason: 'delivery_unconfirmed' }, recipient: accepted },
    {
      says: `within ${REPORT_DEADLINE_MS / 3_600_000} hours. It may have arrived.`,
      actions: ['check_recipient', 'send_again'],
      isSentAgain: true,
    },
  ],
  [
    'delivered',
    { recipient: { ...accepted, status: 'delivered', deliveredAt: at(-7) } },
    { says: 'The carrier reported its delivery.', actions: [] },
  ],
  [
    'canceled',
    { recipient: failed('canceled', 'It was canceled before it left.') },
    { says: 'canceled before it left, and refunded', actions: ['send_again'], isSentAgain: true },
  ],
  [
    'expired',
    { recipient: failed('expired', 'No carrier accepted it before its deadline. Last answer: throttled') },
    { says: 'Last answer: throttled.', actions: ['ask_operator', 'send_again'], isSentAgain: true },
  ],
  [
    'rejected',
    { recipient: failed('ESME_RINVDSTADR', 'Invalid destination') },
    {
      says: 'The carrier rejected it, so it was refunded. The reason: Invalid destination.',
      actions: ['check_recipient', 'send_again'],
      isSentAgain: true,
    },
  ],
  [
    'recipient_gone',
    { message: { channel: 'push' }, recipient: failed('recipient_gone', 'It was removed.') },
    { says: 'The device was removed', actions: ['check_recipient'] },
  ],
  [
    'recipient_suppressed',
    { recipient: failed('recipient_suppressed', 'It was suppressed.') },
    { says: 'as by a STOP, while the message waited', actions: [] },
  ],
  [
    'number_taken',
    { message: { channel: 'whatsapp' }, recipient: failed('number_taken', 'It was taken.') },
    { says: 'was taken from the account while it waited', actions: ['send_again'], isSentAgain: true },
  ],
  [
    'review_rejected',
    { recipient: failed('review_rejected', 'It was held.') },
    { says: 'a person rejected it. It was not charged.', actions: [] },
  ],
  [
    'undeliverable',
    { recipient: { ...accepted, ...failed('UNDELIV', 'Absent subscriber') } },
    {
      says: 'It was charged. The reason: Absent subscriber.',
      actions: ['check_recipient', 'send_again'],
      isSentAgain: true,
    },
  ],
  [
    'possibly_sent',
    {
      message: { statusReason: 'refund_pending' },
      recipient: { ...failed('expired', 'No answer.'), refundDueAt: at(72 * 60) },
    },
    {
      says: 'It is refunded at 2026-03-04T12:00:00.000Z unless',
      actions: ['wait', 'send_again'],
      isSentAgain: true,
    },
  ],
];

const known = (
  { message = {}, recipient = {} }: Case[1],
  more: Partial<KnownOfMessage> = {},
): KnownOfMessage => ({
  message: { ...MESSAGE, ...message },
  recipients: [{ ...RECIPIENT, ...recipient }],
  timeline: [],
  deliveries: [],
  ...more,
});

describe('the explanation of a message (R274)', () => {
  it.each(CASES)('%s', (cause, given, { says, actions, isSentAgain = false }) => {
    const about = known(given);
    const explained = explainMessage(about, NOW);
    expect(explained.cause).toBe(cause);
    expect(explained.summary).toContain(says);
    expect(explained.actions.map(({ action }) => action)).toEqual(actions);
    expect(retryable(about.message, about.recipients, NOW)).toHaveLength(isSentAgain ? 1 : 0);
  });

  it('has a case for every cause', () => {
    expect(new Set(CASES.map(([cause]) => cause))).toEqual(new Set(MESSAGE_CAUSES));
  });

  it('groups recipients by cause, those of most first, and advises once', () => {
    const recipients = [
      { ...RECIPIENT, ...failed('X1', 'Blocked') },
      { ...RECIPIENT, position: 1, ...accepted },
      { ...RECIPIENT, position: 2, ...failed('X1', 'Blocked') },
      { ...RECIPIENT, position: 3, ...accepted, ...failed('UNDELIV', 'Absent') },
    ];
    const explained = explainMessage(known({}, { recipients }), NOW);
    expect(explained.causes.map(({ cause, recipients: count }) => [cause, count])).toEqual([
      ['rejected', 2],
      ['awaiting_report', 1],
      ['undeliverable', 1],
    ]);
    expect(explained.summary).toMatch(/^2 of 4 recipients: The carrier rejected it.* 1 of 4 recipients: /);
    expect(explained.actions.map(({ action }) => action)).toEqual(['check_recipient', 'send_again', 'wait']);
  });

  it('shows attempts, answers, reports and webhook deliveries by time', () => {
    const detail = 'Unavailable: throttled. Next try at 2026-03-01T11:51:30.000Z.';
    const about = known(
      { recipient: { ...accepted, ...failed('UNDELIV', 'Absent') } },
      {
        timeline: [
          { at: at(-10), status: 'pending' },
          { at: at(-9.5), status: 'pending', recipient: RECIPIENT.address, detail },
        ],
        deliveries: [
          { event: 'sms.failed', status: 'failed', attempts: 4, errorMessage: 'HTTP 500', createdAt: at(-7) },
        ],
      },
    );
    const { evidence, actions } = explainMessage(about, NOW);
    expect(evidence).toEqual([
      { at: at(-9.5), kind: 'attempt', recipient: RECIPIENT.address, text: detail },
      { at: at(-9), kind: 'answer', recipient: RECIPIENT.address, text: 'The carrier accepted it as abc.' },
      { at: at(-8), kind: 'report', recipient: RECIPIENT.address, text: 'UNDELIV: Absent' },
      {
        at: at(-7),
        kind: 'webhook',
        recipient: null,
        text: 'The delivery of sms.failed is failed after 4 attempts. The last error: HTTP 500.',
      },
    ]);
    expect(actions.at(-1)).toEqual({
      action: 'redeliver_webhook',
      text: '1 of its webhook deliveries failed. Repair the endpoint and deliver them again.',
    });
  });

  it('shows no more than the newest 50 pieces of evidence', () => {
    const recipients = [...Array(60).keys()].map((position) => ({
      ...RECIPIENT,
      ...accepted,
      position,
      sentAt: at(-100 + position),
    }));
    const { evidence } = explainMessage(known({}, { recipients }), NOW);
    expect([evidence.length, evidence[0]?.at, evidence.at(-1)?.at]).toEqual([50, at(-90), at(-41)]);
  });
});
