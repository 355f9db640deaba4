/** Push messages through Firebase Cloud Messaging, with its API HTTP v1 (R24). */
import {
  type Provider,
  type ProviderHealth,
  type ProviderOutcome,
  type ProviderProbe,
  type PushSubmission,
  UNREGISTERED,
} from '../../domain/ports/provider.ts';
import { healthOf, noAnswer, type ProviderExchange, ProviderHttp } from '../provider-http.ts';
import { sidOf } from '../sid-of.ts';
import { GoogleToken, type ServiceAccount } from './google-token.ts';
import { secondsToKeep, unavailable } from './push-outcomes.ts';

export interface FcmOptions {
  readonly account: ServiceAccount;
  /** Default: Google's URL. */
  readonly baseUrl?: string | undefined;
  /** Time limit of one request in ms. */
  readonly timeoutMs?: number | undefined;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

const FCM_URL = 'https://fcm.googleapis.com';
/** Pause in ms after a quota error without `Retry-After`, as Google asks for. */
const QUOTA_PAUSE_MS = 60_000;

/** The provider for devices with tokens of Firebase. */
export class FcmProvider implements Provider<PushSubmission> {
  readonly name: string;
  readonly #http: ProviderHttp;
  readonly #token: GoogleToken;
  readonly #path: string;
  readonly #now: () => Date;
  #inFlight = 0;
  /** The reason why the last request was refused, if the cause is the operator's account. */
  #trouble: string | undefined;

  constructor({ account, baseUrl = FCM_URL, timeoutMs, now = () => new Date() }: FcmOptions) {
    this.#now = now;
    this.name = `fcm:${account.projectId}`;
    this.#http = new ProviderHttp({ baseUrl, now, ...(timeoutMs === undefined ? {} : { timeoutMs }) });
    this.#token = new GoogleToken(account, timeoutMs);
    this.#path = `/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`;
  }

  start(): void {}

  async submit(submission: PushSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    this.#inFlight += 1;
    try {
      const token = await this.#token.get();
      const outcome = await this.#send(submission, token, signal);
      // Google may revoke a token early. Get a new one and retry once.
      if (outcome !== 'token refused') return outcome;
      const again = await this.#send(
        submission,
        await this.#token.get(typeof token === 'string' ? token : undefined),
        signal,
      );
      return again === 'token refused' ? this.#own('the access token is refused') : again;
    } finally {
      this.#inFlight -= 1;
    }
  }

  async stop(): Promise<void> {
    await Promise.all([this.#http.close(), this.#token.close()]);
  }

  health(): ProviderHealth {
    return healthOf(this.name, this.#inFlight, this.#trouble);
  }

  /** Lets FCM check a message to a topic without sending it. */
  async probe(): Promise<ProviderProbe> {
    const token = await this.#token.get();
    if (typeof token !== 'string') throw new Error(token.failure);
    const message = { topic: 'gateway-doctor', notification: { title: 'Check', body: 'Not sent.' } };
    const write = () => ({
      path: this.#path,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ validate_only: true, message }),
    });
    const answer = await this.#http.post(write, {});
    if (answer.kind === 'failure') throw new Error(answer.reason);
    if (answer.status >= 300) {
      const { code, message: words } = errorOf(answer);
      throw new Error(`FCM answered ${answer.status} ${code}${words}`);
    }
    return { detail: 'FCM accepts the credentials, and a message that it only checked' };
  }

  async #send(
    submission: PushSubmission,
    token: Awaited<ReturnType<GoogleToken['get']>>,
    signal: AbortSignal,
  ): Promise<ProviderOutcome | 'token refused'> {
    if (typeof token !== 'string') return this.#own(token.failure);
    const write = () => ({
      path: this.#path,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: fcmMessage(submission, this.#now().getTime()) }),
    });
    const answer = await this.#http.post(write, { signal, expiresAt: submission.expiresAt });
    if (answer.kind === 'failure') return noAnswer('FCM', answer);
    const refusedToken = answer.status === 401 && errorOf(answer).code !== 'THIRD_PARTY_AUTH_ERROR';
    if (refusedToken) return 'token refused';
    return this.#read(answer, submission);
  }

  #read(answer: ProviderExchange & { kind: 'answer' }, submission: PushSubmission): ProviderOutcome {
    const { status, body, retryAfterMs } = answer;
    if (status >= 200 && status < 300 && body !== undefined && body.error === undefined) {
      this.#trouble = undefined;
      return { kind: 'accepted', sid: sidOf(body.name, submission) };
    }
    const { code, message } = errorOf(answer);
    const reason = `FCM answered ${status} ${code}${message}`;
    switch (code) {
      case 'UNREGISTERED':
        return {
          kind: 'rejected',
          asked: true,
          code: UNREGISTERED,
          reason: 'FCM says that the token is no longer registered.',
        };
      case 'INVALID_ARGUMENT':
      case 'SENDER_ID_MISMATCH':
        return { kind: 'rejected', asked: true, code, reason };
      case 'QUOTA_EXCEEDED':
      case 'RESOURCE_EXHAUSTED':
        return unavailable(reason, true, retryAfterMs ?? QUOTA_PAUSE_MS);
    }
    if (status === 429) return unavailable(reason, true, retryAfterMs ?? QUOTA_PAUSE_MS);
    // The operator must fix the project or its credentials. The answer says nothing about the device.
    if (status >= 400 && status < 500) return this.#own(reason);
    return unavailable(reason, false, retryAfterMs);
  }

  #own(trouble: string): ProviderOutcome {
    this.#trouble = trouble;
    return unavailable(trouble, true);
  }
}

/** Returns the message in the format of FCM. */
function fcmMessage(submission: PushSubmission, nowMs: number) {
  const { target, title, body, imageUrl, clickUrl, collapseKey, priority } = submission;
  const seconds = secondsToKeep(submission, nowMs);
  const isHigh = priority === 'high';
  return {
    token: target.token,
    notification: { title, body, ...(imageUrl === undefined ? {} : { image: imageUrl }) },
    data: { ...submission.data, ...(clickUrl === undefined ? {} : { clickUrl }) },
    android: {
      priority: isHigh ? 'HIGH' : 'NORMAL',
      ...(seconds === undefined ? {} : { ttl: `${seconds}s` }),
      ...(collapseKey === undefined ? {} : { collapse_key: collapseKey }),
    },
    apns: {
      headers: {
        'apns-priority': isHigh ? '10' : '5',
        ...(seconds === undefined ? {} : { 'apns-expiration': expiration(seconds, nowMs) }),
        ...(collapseKey === undefined ? {} : { 'apns-collapse-id': collapseKey }),
      },
    },
  };
}

function expiration(seconds: number, nowMs: number): string {
  return seconds === 0 ? '0' : String(Math.floor(nowMs / 1000) + seconds);
}

/** Returns FCM's own error code, or else the general status. `message` begins with a colon, or is empty. */
function errorOf({ body }: ProviderExchange & { kind: 'answer' }): { code: string; message: string } {
  const error = (body as { error?: Record<string, unknown> } | undefined)?.error;
  const details = Array.isArray(error?.details) ? error.details : [];
  const own = details.find((detail) => typeof detail?.errorCode === 'string')?.errorCode;
  const status = typeof error?.status === 'string' ? error.status : 'without a known error';
  const message = typeof error?.message === 'string' ? `: ${error.message.slice(0, 200)}` : '';
  return { code: own ?? status, message };
}
