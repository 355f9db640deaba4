/** Explains in words why a message has its status, with the evidence and with advice on what to do (R274). */
import type { DeliveryStatus } from '../webhooks/webhook.ts';
import { countryOf, PREFIX_LENGTH } from './country.ts';
import {
  type Channel,
  type Message,
  REPORT_DEADLINE_MS,
  type Recipient,
  type TimelineEntry,
} from './message.ts';

/**
 * The possible reasons for a recipient's status. Causes with the same number of recipients are listed in this order.
 */
export const MESSAGE_CAUSES = [
  'sandbox',
  'scheduled',
  'held',
  'held_for_review',
  'queued',
  'retrying',
  'awaiting_report',
  'delivery_unconfirmed',
  'delivered',
  'canceled',
  'expired',
  'rejected',
  'review_rejected',
  'recipient_gone',
  'recipient_suppressed',
  'number_taken',
  'undeliverable',
  'possibly_sent',
] as const;
export type MessageCause = (typeof MESSAGE_CAUSES)[number];

export const EVIDENCE_KINDS = ['attempt', 'answer', 'report', 'webhook'] as const;
export const MESSAGE_ACTIONS = [
  'wait',
  'cancel',
  'send_again',
  'check_recipient',
  'ask_operator',
  'redeliver_webhook',
] as const;

/** Something that happened to a message. It supports the explanation. */
export interface Evidence {
  readonly at: Date;
  /**
   * `attempt`: an attempt that no provider accepted. `answer`: a provider's answer. `report`: its later report.
   * `webhook`: a webhook delivery.
   */
  readonly kind: (typeof EVIDENCE_KINDS)[number];
  readonly recipient: string | null;
  readonly text: string;
}

interface Advice {
  readonly action: (typeof MESSAGE_ACTIONS)[number];
  readonly text: string;
}

export interface MessageExplanation {
  /**
   * The cause that most recipients have. If several causes have the same number of recipients, it is the first of them
   * in `MESSAGE_CAUSES`.
   */
  readonly cause: MessageCause;
  readonly summary: string;
  readonly causes: readonly {
    readonly cause: MessageCause;
    readonly text: string;
    readonly recipients: number;
  }[];
  /** The newest 50 pieces of evidence, oldest first. */
  readonly evidence: readonly Evidence[];
  readonly actions: readonly Advice[];
}

/** The stored data that explains a message. */
export interface KnownOfMessage {
  readonly message: Message;
  readonly recipients: readonly Recipient[];
  readonly timeline: readonly TimelineEntry[];
  /** Webhook deliveries of the message's events. Empty for callers who may not see them. */
  readonly deliveries: readonly {
    readonly event: string;
    readonly status: DeliveryStatus;
    readonly attempts: number;
    readonly errorMessage: string | null;
    readonly createdAt: Date;
  }[];
}

const EVIDENCE_MAX = 50;
const HOUR_MS = 3_600_000;
const PROVIDER: Readonly<Record<Channel, string>> = {
  sms: 'carrier',
  email: 'mail server',
  push: 'push service',
  whatsapp: 'platform',
};

/** Explains a message as of `now`. The function reads no store. So the caller adds the cost of sending again. */
export function explainMessage(known: KnownOfMessage, now: Date): MessageExplanation {
  const { message, recipients } = known;
  const groups = Map.groupBy(recipients, (recipient) => causeOf(message, recipient, now));
  const causes = MESSAGE_CAUSES.flatMap((cause) => {
    const own = groups.get(cause);
    return own?.[0] ? [{ cause, text: textOf(cause, message, own), recipients: own.length }] : [];
  }).sort((left, right) => right.recipients - left.recipients);
  const summary = causes
    .map(({ text, recipients: count }) =>
      recipients.length === 1 ? text : `${count} of ${recipients.length} recipients: ${text}`,
    )
    .join(' ');
  const advice = causes.flatMap(({ cause }) => adviceFor(cause, message, groups.get(cause) ?? []));
  return {
    cause: causes[0]?.cause ?? 'queued',
    summary,
    causes,
    evidence: evidenceOf(known),
    actions: onceEach([...advice, ...webhookAdvice(known)]),
  };
}

/** Returns the recipients that may not have got the message, so that sending it again may help. */
export function retryable(
  message: Message,
  recipients: readonly Recipient[],
  now: Date,
): readonly Recipient[] {
  return recipients.filter((recipient) => SENT_AGAIN.has(causeOf(message, recipient, now)));
}

const SENT_AGAIN: ReadonlySet<MessageCause> = new Set([
  'canceled',
  'expired',
  'rejected',
  'number_taken',
  'undeliverable',
  'possibly_sent',
  'delivery_unconfirmed',
]);

function causeOf(message: Message, recipient: Recipient, now: Date): MessageCause {
  if (message.environment === 'sandbox') return 'sandbox';
  switch (recipient.status) {
    case 'pending':
      if (message.statusReason === 'held_for_review') return 'held_for_review';
      if (recipient.heldUntil && recipient.heldUntil > now) return 'held';
      if (recipient.attempts > 0) return 'retrying';
      return message.scheduledFor && message.scheduledFor > now ? 'scheduled' : 'queued';
    case 'sent':
      return message.statusReason === 'delivery_unconfirmed' ? 'delivery_unconfirmed' : 'awaiting_report';
    case 'delivered':
      return 'delivered';
    case 'failed':
      return failureOf(recipient);
  }
}

function failureOf({ error, sentAt, refundDueAt }: Recipient): MessageCause {
  if (refundDueAt !== null) return 'possibly_sent';
  if (sentAt !== null) return 'undeliverable';
  switch (error?.code) {
    case 'canceled':
    case 'expired':
    case 'recipient_gone':
    case 'recipient_suppressed':
    case 'number_taken':
      return error.code;
    case 'review_rejected':
      return 'review_rejected';
    default:
      return 'rejected';
  }
}

/** Returns one or two sentences about the recipients with this cause. */
function textOf(cause: MessageCause, message: Message, own: readonly Recipient[]): string {
  const [first] = own;
  const provider = PROVIDER[message.channel];
  const reason = first?.error ? ` The reason: ${ended(first.error.message)}` : '';
  switch (cause) {
    case 'sandbox':
      return 'It is a sandbox message: it was checked and recorded, and nothing was sent or charged.';
    case 'scheduled':
      return `It waits for its time, ${message.scheduledFor?.toISOString()}.`;
    case 'held':
      return heldText(own);
    case 'held_for_review':
      return 'It is held because many numbers in a row were written to, as in SMS pumping. It is not charged until an owner or administrator releases it.';
    case 'queued':
      return `It waits for its turn. No ${provider} was asked yet.`;
    case 'retrying':
      return `No ${provider} has accepted it yet. It is tried again until ${message.expiresAt.toISOString()}, and is refunded if it fails.`;
    case 'awaiting_report':
      return `The ${provider} accepted it. No delivery report has come yet; reports are waited for ${REPORT_DEADLINE_MS / HOUR_MS} hours.`;
    case 'delivery_unconfirmed':
      return `The ${provider} accepted it, but no delivery report came within ${REPORT_DEADLINE_MS / HOUR_MS} hours. It may have arrived.`;
    case 'delivered':
      return `The ${provider} reported its delivery.`;
    case 'canceled':
      return 'It was canceled before it left, and refunded.';
    case 'expired':
      return `No ${provider} accepted it before its deadline, so it failed and was refunded.${reason}`;
    case 'rejected':
      return `The ${provider} rejected it, so it was refunded.${reason}`;
    case 'review_rejected':
      return 'It was held as possible SMS pumping, and a person rejected it. It was not charged.';
    case 'recipient_gone':
      return 'The device was removed before the message could leave, so it was refunded.';
    case 'recipient_suppressed':
      return 'The recipient was suppressed, as by a STOP, while the message waited. It did not leave, and was refunded.';
    case 'number_taken':
      return 'The WhatsApp number that it was accepted for was taken from the account while it waited. It did not leave, and was refunded.';
    case 'undeliverable':
      return `The ${provider} accepted it and reported later that it could not be delivered. It was charged.${reason}`;
    case 'possibly_sent':
      return `It failed, but an earlier attempt got no answer and may have arrived. It is refunded at ${first?.refundDueAt?.toISOString()} unless a report of its delivery comes before.${reason}`;
  }
}

const COUNTRIES = new Intl.DisplayNames('en', { type: 'region' });

/** Says where quiet hours hold the recipients, and until when the last of them waits. */
function heldText(recipients: readonly Recipient[]): string {
  const codes = new Set(recipients.map(({ address }) => countryOf(address.slice(0, PREFIX_LENGTH)) ?? ''));
  const names = [...codes].filter((code) => code !== '').map((code) => COUNTRIES.of(code) ?? code);
  const where = names.length > 0 ? ` in ${new Intl.ListFormat('en').format(names)}` : '';
  const until = new Date(Math.max(...recipients.map(({ heldUntil }) => heldUntil?.getTime() ?? 0)));
  return `It is marketing, and held until ${until.toISOString()}: quiet hours${where}.`;
}

const ended = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

const SEND_AGAIN: Advice = {
  action: 'send_again',
  text: 'Send it again. That is a new message and costs anew.',
};
const CANCEL: Advice = { action: 'cancel', text: 'Cancel it. Nothing has left yet, so it is refunded.' };

function adviceFor(
  cause: MessageCause,
  { channel }: Message,
  recipients: readonly Recipient[],
): readonly Advice[] {
  const canCancel = recipients.every(({ isClaimed }) => !isClaimed) ? [CANCEL] : [];
  const operator = (text: string): Advice => ({ action: 'ask_operator', text });
  const check = (text: string): Advice => ({ action: 'check_recipient', text });
  const wait = (text: string): Advice => ({ action: 'wait', text });
  const provider = PROVIDER[channel];
  switch (cause) {
    case 'sandbox':
      return [{ action: 'send_again', text: 'Send it with a production key to have it delivered.' }];
    case 'scheduled':
      return [wait('Wait until its time.'), ...canCancel];
    case 'held':
      return [wait('Wait: it leaves when the quiet hours end.'), ...canCancel];
    case 'held_for_review':
      return [wait('Wait for the review, or ask an owner or administrator of the account.'), ...canCancel];
    case 'queued':
      return [wait('Wait: it is usually asked within seconds.'), ...canCancel];
    case 'retrying':
      return [
        wait('Wait: it is tried again by itself. Sending it again could deliver it twice.'),
        ...canCancel,
        operator(`If this lasts, ask the operator whether the ${provider} is down.`),
      ];
    case 'awaiting_report':
      return [wait('Wait for the delivery report. Sending it again would deliver it twice.')];
    case 'delivery_unconfirmed':
      return [
        check('Ask the recipient whether it arrived before you send it again: it could arrive twice.'),
        SEND_AGAIN,
      ];
    case 'delivered':
      return [];
    case 'canceled':
    case 'number_taken':
      return [SEND_AGAIN];
    case 'expired':
      return [operator(`Ask the operator why no ${provider} accepted it.`), SEND_AGAIN];
    case 'rejected':
      return [check('Check the address and the sender against the reason.'), SEND_AGAIN];
    case 'review_rejected':
      return [];
    case 'recipient_gone':
      return [check('Register the device again, then send to it.')];
    case 'recipient_suppressed':
      return [];
    case 'undeliverable':
      return [check('Check that the address is right and in use.'), SEND_AGAIN];
    case 'possibly_sent':
      return [
        wait('Wait for the report or the refund. Sending it again before could deliver it twice.'),
        SEND_AGAIN,
      ];
  }
}

function webhookAdvice({ deliveries }: KnownOfMessage): readonly Advice[] {
  const failed = deliveries.filter(({ status }) => status === 'failed').length;
  if (failed === 0) return [];
  const text = `${failed} of its webhook deliveries failed. Repair the endpoint and deliver them again.`;
  return [{ action: 'redeliver_webhook', text }];
}

function onceEach(advice: readonly Advice[]): readonly Advice[] {
  return [...new Map(advice.map((one) => [one.action, one])).values()];
}

function evidenceOf({ message, recipients, timeline, deliveries }: KnownOfMessage): readonly Evidence[] {
  const provider = PROVIDER[message.channel];
  const isLive = message.environment !== 'sandbox';
  const found: Evidence[] = [
    ...timeline.flatMap(({ at, status, recipient = null, detail }): Evidence[] =>
      detail !== undefined && status !== 'failed' ? [{ at, kind: 'attempt', recipient, text: detail }] : [],
    ),
    ...(isLive ? recipients : []).flatMap((recipient) => answersOf(recipient, provider)),
    ...deliveries.map(({ createdAt: at, event, status, attempts, errorMessage }): Evidence => {
      const why = errorMessage === null ? '' : ` The last error: ${ended(errorMessage)}`;
      return {
        at,
        kind: 'webhook',
        recipient: null,
        text: `The delivery of ${event} is ${status} after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}.${why}`,
      };
    }),
  ];
  return found.sort((left, right) => left.at.getTime() - right.at.getTime()).slice(-EVIDENCE_MAX);
}

function answersOf(recipient: Recipient, provider: string): Evidence[] {
  const { address, sid, error, sentAt, deliveredAt, readAt, failedAt } = recipient;
  const one = (at: Date | null, kind: Evidence['kind'], text: string): Evidence[] =>
    at ? [{ at, kind, recipient: address, text }] : [];
  const failure = error ? `${error.code}: ${error.message}` : 'It failed without a reason.';
  return [
    ...one(
      sentAt,
      'answer',
      sid === null ? `The ${provider} accepted it.` : `The ${provider} accepted it as ${sid}.`,
    ),
    ...one(deliveredAt, 'report', `The ${provider} reported its delivery.`),
    ...one(readAt, 'report', `The ${provider} reported that it was read.`),
    ...one(failedAt, sentAt ? 'report' : 'answer', failure),
  ];
}
