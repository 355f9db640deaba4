/** Web Push (RFC 8030): encrypted for the browser (RFC 8291), signed by this gateway (RFC 8292) (R24). */
import { createHash } from 'node:crypto';
import webPush from 'web-push';
import {
  type Provider,
  type ProviderHealth,
  type PushSubmission,
  type SubmitOutcome,
  UNREGISTERED,
} from '../../domain/ports/provider.ts';
import type { GuardedClient, HttpExchange } from '../guarded-http/guarded-client.ts';
import { retryAfterMs } from '../provider-http.ts';
import { secondsToKeep, type Unavailable, unavailable } from './push-outcomes.ts';
import type { VapidKeys } from './vapid-keys.ts';

export interface WebPushOptions {
  /** Endpoints are addresses that customers name. Not closed here. */
  readonly client: GuardedClient;
  readonly keys: VapidKeys;
  /** Where a push service can reach the operator: a `mailto:` or `https:` address. */
  readonly subject: string;
  /** Milliseconds for one request. */
  readonly timeoutMs?: number | undefined;
  /** The time that deadlines are kept by; the process's when absent. */
  readonly now?: (() => Date) | undefined;
}

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 4_096;
const LONGEST_KEPT_SECONDS = 2_419_200;
const TOPIC_LENGTH = 32;
const SID_MAX_LENGTH = 512;

/**
 * Failures before any byte of the request has left. A name that leads to the inside is tried again as one that leads
 * nowhere is: customers could tell the two apart otherwise.
 */
const BEFORE_SENDING = new Set([
  'address_not_public',
  'name_not_found',
  'name_lookup_failed',
  'connection_refused',
  'unreachable',
  'tls_error',
]);

/** A provider of browsers, each at the endpoint of its own push service. */
export class WebPushProvider implements Provider<PushSubmission> {
  readonly name = 'web-push';
  readonly #options: WebPushOptions;
  #inFlight = 0;
  #isStopped = false;

  constructor(options: WebPushOptions) {
    this.#options = options;
  }

  start(): void {}

  async submit(submission: PushSubmission, signal: AbortSignal): Promise<SubmitOutcome> {
    if (signal.aborted || this.#isStopped) return unavailable('the gateway is stopping', true);
    const request = this.#requestFor(submission);
    if (request === undefined) {
      return { kind: 'rejected', code: 'invalid_keys', reason: "The browser's keys cannot be used." };
    }
    this.#inFlight += 1;
    try {
      const exchange = await this.#options.client.request({
        accountId: submission.target.accountId,
        url: submission.target.token,
        method: 'POST',
        ...request,
        timeoutMs: this.#options.timeoutMs ?? TIMEOUT_MS,
        maxResponseBytes: MAX_ANSWER_BYTES,
      });
      return outcomeOf(exchange, submission);
    } finally {
      this.#inFlight -= 1;
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
  }

  /** Each endpoint has a push service of its own, so there is nothing that could be down as a whole. */
  health(): ProviderHealth {
    return { name: this.name, state: 'up', inFlight: this.#inFlight };
  }

  #requestFor(submission: PushSubmission): { headers: Record<string, string>; body: Buffer } | undefined {
    const { target, collapseKey, priority } = submission;
    const { keys, subject, now = () => new Date() } = this.#options;
    try {
      const details = webPush.generateRequestDetails(
        { endpoint: target.token, keys: target.keys ?? { p256dh: '', auth: '' } },
        JSON.stringify(contentOf(submission)),
        {
          vapidDetails: { subject, ...keys },
          TTL: secondsToKeep(submission, now().getTime()) ?? LONGEST_KEPT_SECONDS,
          urgency: priority,
          contentEncoding: 'aes128gcm',
          ...(collapseKey === undefined ? {} : { topic: topicOf(collapseKey) }),
        },
      );
      const headers = Object.entries(details.headers).map(([name, value]) => [name, String(value)]);
      return { headers: Object.fromEntries(headers), body: details.body };
    } catch {
      // A point that is not on the curve.
      return undefined;
    }
  }
}

/** Endpoints are what customers say: one that is dead is no sign that others are. */
function alone(outcome: Unavailable): Unavailable {
  return { ...outcome, onlyThis: true };
}

function contentOf({ title, body, data, imageUrl, clickUrl }: PushSubmission) {
  return {
    title,
    body,
    data,
    ...(imageUrl === undefined ? {} : { imageUrl }),
    ...(clickUrl === undefined ? {} : { clickUrl }),
  };
}

/** Topics have few letters and little room: a digest stands for the key. */
function topicOf(collapseKey: string): string {
  return createHash('sha256').update(collapseKey).digest('base64url').slice(0, TOPIC_LENGTH);
}

function outcomeOf(exchange: HttpExchange, { messageId, position }: PushSubmission): SubmitOutcome {
  if (exchange.kind === 'error') {
    const { code, message } = exchange;
    if (code === 'invalid_url')
      return { kind: 'rejected', code, reason: `The endpoint cannot be used: ${message}.` };
    return alone(unavailable(`push service: ${message}`, BEFORE_SENDING.has(code)));
  }
  const { status, headers } = exchange;
  const header = (name: string) => [headers[name]].flat()[0];
  if (status >= 200 && status < 300) {
    const location = header('location')?.slice(0, SID_MAX_LENGTH);
    return { kind: 'accepted', sid: location || `web-${messageId}-${position}` };
  }
  const reason = `the push service answered ${status}`;
  if (status === 404 || status === 410) {
    return {
      kind: 'rejected',
      code: UNREGISTERED,
      reason: 'The push service says that the subscription has ended.',
    };
  }
  const pauseMs = retryAfterMs(header('retry-after'), Date.now());
  if (status === 429) return alone(unavailable(reason, true, pauseMs));
  if (status >= 500) return alone(unavailable(reason, false, pauseMs));
  // Among them 401 and 403: the browser subscribed to another gateway's key.
  return { kind: 'rejected', code: `http_${status}`, reason };
}
