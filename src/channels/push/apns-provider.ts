/** Push messages through the Apple Push Notification service, over HTTP/2 with provider tokens (R24). */
import { createHash, type KeyObject } from 'node:crypto';
import {
  type Provider,
  type ProviderHealth,
  type ProviderOutcome,
  type ProviderProbe,
  type PushSubmission,
  UNREGISTERED,
} from '../../domain/ports/provider.ts';
import { healthOf, noAnswer, retryAfterMs } from '../provider-http.ts';
import { type ApnsAnswer, ApnsSession } from './apns-session.ts';
import { privateKeyFrom, signedToken } from './json-web-token.ts';
import { secondsToKeep, unasked, unavailable } from './push-outcomes.ts';

export interface ApnsOptions {
  /** The signing key of the Apple developer account, as PEM. */
  readonly key: string;
  readonly keyId: string;
  readonly teamId: string;
  /** The app's bundle id. */
  readonly topic: string;
  /** Default: Apple's URL. */
  readonly baseUrl?: string | undefined;
  /** Time limit of one request in ms. */
  readonly timeoutMs?: number | undefined;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
  /** Further trusted certificates as PEM, for tests. */
  readonly ca?: string | undefined;
}

const APNS_URL = 'https://api.push.apple.com';
const TIMEOUT_MS = 30_000;
/**
 * How long a provider token is used, in ms. Apple refuses tokens older than an hour, and new tokens more often than
 * every 20 minutes.
 */
const TOKEN_LIFETIME_MS = 50 * 60_000;
/**
 * How long Apple may keep a message that has no deadline, in seconds. The other platforms keep such a message for the
 * same time.
 */
const LONGEST_KEPT_SECONDS = 2_419_200;

/** The provider for devices with tokens of Apple. */
const NO_DEVICE = '0'.repeat(64);

export class ApnsProvider implements Provider<PushSubmission> {
  readonly name: string;
  readonly #options: ApnsOptions;
  readonly #key: KeyObject;
  readonly #session: ApnsSession;
  #token: { readonly value: string; readonly madeAtMs: number } | undefined;
  #inFlight = 0;
  #trouble: string | undefined;

  /** Throws an Error if the key cannot be used. */
  constructor(options: ApnsOptions) {
    this.name = `apns:${options.topic}`;
    this.#options = options;
    this.#key = privateKeyFrom(options.key, 'ec');
    this.#session = new ApnsSession({
      baseUrl: options.baseUrl ?? APNS_URL,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      ca: options.ca,
    });
  }

  start(): void {}

  async submit(submission: PushSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    this.#inFlight += 1;
    try {
      const token = this.#currentToken();
      const outcome = await this.#send(submission, token, signal);
      if (outcome !== 'token expired') return outcome;
      // Apple considers the token expired: this machine's clock is wrong, or the machine was suspended. Retry once with
      // a new token.
      const again = await this.#send(submission, this.#currentToken(token), signal);
      return again === 'token expired'
        ? this.#own('APNs says that a new provider token has expired; check the clock')
        : again;
    } finally {
      this.#inFlight -= 1;
    }
  }

  stop(): Promise<void> {
    return this.#session.close();
  }

  health(): ProviderHealth {
    return healthOf(this.name, this.#inFlight, this.#trouble);
  }

  /** Sends a notification to a token that no device has. Apple checks the provider token and the topic before it. */
  async probe(): Promise<ProviderProbe> {
    const headers = {
      authorization: `bearer ${this.#currentToken()}`,
      'apns-topic': this.#options.topic,
      'apns-push-type': 'alert',
    };
    const payload = JSON.stringify({ aps: { alert: 'Check' } });
    const answer = await this.#session.post(`/3/device/${NO_DEVICE}`, headers, payload);
    if (answer.kind === 'failure') throw new Error(answer.reason);
    const { reason } = (answer.body ?? {}) as { reason?: unknown };
    if (answer.status !== 200 && reason !== 'BadDeviceToken')
      throw new Error(`APNs answered ${answer.status} ${String(reason ?? 'no reason')}`);
    return { detail: 'APNs accepts the key and the topic' };
  }

  /** Returns a provider token other than `refused`. Creates one if needed. */
  #currentToken(refused?: string): string {
    const nowMs = Date.now();
    const known = this.#token;
    if (known && known.value !== refused && nowMs - known.madeAtMs < TOKEN_LIFETIME_MS) return known.value;
    const { keyId, teamId } = this.#options;
    const value = signedToken(this.#key, keyId, { iss: teamId, iat: Math.floor(nowMs / 1000) });
    this.#token = { value, madeAtMs: nowMs };
    return value;
  }

  async #send(
    submission: PushSubmission,
    token: string,
    signal: AbortSignal,
  ): Promise<ProviderOutcome | 'token expired'> {
    if (signal.aborted) return unasked('the gateway is stopping');
    const headers = this.#headers(submission, token, (this.#options.now?.() ?? new Date()).getTime());
    const path = `/3/device/${encodeURIComponent(submission.target.token)}`;
    const answer = await this.#session.post(path, headers, JSON.stringify(payloadOf(submission)));
    if (answer.kind === 'failure') return noAnswer('APNs', answer);
    return this.#read(answer, submission, headers['apns-id'] ?? '');
  }

  #headers(submission: PushSubmission, token: string, nowMs: number): Record<string, string> {
    const seconds = secondsToKeep(submission, nowMs) ?? LONGEST_KEPT_SECONDS;
    return {
      authorization: `bearer ${token}`,
      'apns-id': apnsId(submission),
      'apns-topic': this.#options.topic,
      'apns-push-type': 'alert',
      'apns-priority': submission.priority === 'high' ? '10' : '5',
      'apns-expiration': seconds === 0 ? '0' : String(Math.floor(nowMs / 1000) + seconds),
      ...(submission.collapseKey === undefined ? {} : { 'apns-collapse-id': submission.collapseKey }),
    };
  }

  #read(answer: ApnsAnswer, submission: PushSubmission, id: string): ProviderOutcome | 'token expired' {
    const { status, headers } = answer;
    if (status === 200) {
      this.#trouble = undefined;
      const given = headers['apns-id'];
      return { kind: 'accepted', sid: typeof given === 'string' && given !== '' ? given : id };
    }
    const body = answer.body as { reason?: unknown; timestamp?: unknown } | undefined;
    const code = typeof body?.reason === 'string' ? body.reason : 'no reason';
    const reason = `APNs answered ${status} ${code}`;
    const retryAfter = headers['retry-after'];
    const pauseMs = retryAfterMs(typeof retryAfter === 'string' ? retryAfter : undefined, Date.now());
    if (code === 'ExpiredProviderToken') return 'token expired';
    if (status === 410) return gone(code, body?.timestamp, submission);
    // `TooManyRequests` concerns this device only. `TooManyProviderTokenUpdates` concerns all messages.
    if (code === 'TooManyRequests') return { ...unavailable(reason, true, pauseMs), onlyThis: true };
    if (status === 429) return unavailable(reason, true, pauseMs);
    // The operator must fix the provider token or the topic. The answer says nothing about the device.
    if (status === 403 || code === 'BadTopic' || code === 'MissingTopic' || code === 'TopicDisallowed') {
      return this.#own(reason);
    }
    if (status >= 400 && status < 500) return { kind: 'rejected', asked: true, code, reason };
    return unavailable(reason, false, pauseMs);
  }

  #own(trouble: string): ProviderOutcome {
    this.#trouble = trouble;
    return unavailable(trouble, true);
  }
}

/**
 * Returns the outcome for a token that Apple calls invalid since `timestamp`. If the app registered the token again
 * after that time, the device is kept. `BadDeviceToken` does not remove a device: Apple has two environments, and a
 * gateway that uses the wrong one gets this answer for every token.
 */
function gone(code: string, timestamp: unknown, { target }: PushSubmission): ProviderOutcome {
  if (typeof timestamp === 'number' && target.registeredAt.getTime() > timestamp) {
    return {
      kind: 'rejected',
      asked: true,
      code,
      reason: 'APNs gave the token up before the app registered it again.',
    };
  }
  return {
    kind: 'rejected',
    asked: true,
    code: UNREGISTERED,
    reason: 'APNs says that the token is no longer active.',
  };
}

/** Returns a UUID for the recipient of a message. It is the same on every attempt. */
function apnsId({ messageId, position }: PushSubmission): string {
  const hex = createHash('sha256').update(`${messageId}:${position}`).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}

function payloadOf({ title, body, data, imageUrl, clickUrl }: PushSubmission) {
  return {
    aps: {
      alert: { title, body },
      sound: 'default',
      // Tells the app's extension to fetch the image.
      ...(imageUrl === undefined ? {} : { 'mutable-content': 1 }),
    },
    ...data,
    ...(imageUrl === undefined ? {} : { imageUrl }),
    ...(clickUrl === undefined ? {} : { clickUrl }),
  };
}
