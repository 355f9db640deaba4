/**
 * Web Push (RFC 8030): messages are encrypted for the browser (RFC 8291) and signed by this gateway (RFC 8292) (R24).
 */
import { createHash } from 'node:crypto';
import webPush from 'web-push';
import {
  type Provider,
  type ProviderHealth,
  type ProviderOutcome,
  type PushSubmission,
  UNREGISTERED,
} from '../../domain/ports/provider.ts';
import type { GuardedClient, HttpExchange } from '../guarded-http/guarded-client.ts';
import { retryAfterMs } from '../provider-http.ts';
import { secondsToKeep, type Unavailable, unasked, unavailable } from './push-outcomes.ts';
import type { VapidKeys } from './vapid-keys.ts';

export interface WebPushOptions {
  /** The guarded client, because customers choose the endpoints. The caller closes it. */
  readonly client: GuardedClient;
  readonly keys: VapidKeys;
  /** How a push service can reach the operator: a `mailto:` or `https:` URL. */
  readonly subject: string;
  /** Time limit of one request in ms. */
  readonly timeoutMs?: number | undefined;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 4_096;
const LONGEST_KEPT_SECONDS = 2_419_200;
const TOPIC_LENGTH = 32;
const SID_MAX_LENGTH = 512;

/**
 * Codes of failures before any byte of the request was sent. A name that resolves to a private address is retried like
 * an unknown name. Otherwise customers could find out which names exist in the operator's network.
 */
const BEFORE_SENDING = new Set([
  'address_not_public',
  'name_not_found',
  'name_lookup_failed',
  'connection_refused',
  'unreachable',
  'tls_error',
]);

/** Codes of failures for which this gateway did not even try to reach the push service. */
const REFUSED_HERE = new Set(['address_not_public', 'client_closed']);

/** The provider for browsers. Each browser has an endpoint at the push service of its vendor. */
export class WebPushProvider implements Provider<PushSubmission> {
  readonly name = 'web-push';
  readonly #options: WebPushOptions;
  #inFlight = 0;
  #isStopped = false;

  constructor(options: WebPushOptions) {
    this.#options = options;
  }

  start(): void {}

  async submit(submission: PushSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    if (signal.aborted || this.#isStopped) return unasked('the gateway is stopping');
    const request = this.#requestFor(submission);
    if (request === undefined) {
      return {
        kind: 'rejected',
        asked: false,
        code: 'invalid_keys',
        reason: "The browser's keys cannot be used.",
      };
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

  /**
   * Always up. The endpoints belong to many push services, so the failure of one service does not mean that all are
   * down.
   */
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
      // `p256dh` is not a point on the curve.
      return undefined;
    }
  }
}

/**
 * Marks a failure as one of this endpoint only. Customers choose the endpoints, so a dead endpoint says nothing about
 * the others.
 */
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

/**
 * Returns a topic for the collapse key. A topic has at most 32 characters of base64url (RFC 8030, 5.4). So it is a
 * digest of the key.
 */
function topicOf(collapseKey: string): string {
  return createHash('sha256').update(collapseKey).digest('base64url').slice(0, TOPIC_LENGTH);
}

function outcomeOf(exchange: HttpExchange, { messageId, position }: PushSubmission): ProviderOutcome {
  if (exchange.kind === 'error') {
    const { code, message } = exchange;
    if (code === 'invalid_url')
      return { kind: 'rejected', asked: false, code, reason: `The endpoint cannot be used: ${message}.` };
    const failure = unavailable(`push service: ${message}`, BEFORE_SENDING.has(code));
    return alone({ ...failure, asked: !REFUSED_HERE.has(code) });
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
      asked: true,
      code: UNREGISTERED,
      reason: 'The push service says that the subscription has ended.',
    };
  }
  const pauseMs = retryAfterMs(header('retry-after'), Date.now());
  if (status === 429) return alone(unavailable(reason, true, pauseMs));
  if (status >= 500) return alone(unavailable(reason, false, pauseMs));
  // This includes 401 and 403. They mean that the browser subscribed with another gateway's key.
  return { kind: 'rejected', asked: true, code: `http_${status}`, reason };
}
