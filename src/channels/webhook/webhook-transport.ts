/** Sends webhook attempts through the guarded client (R29, R30, R32). */
import {
  type AttemptRequest,
  type AttemptResult,
  type DeliveryHeader,
  TargetRefused,
  type WebhookTransport,
} from '../../domain/ports/webhook-transport.ts';
import { webhookSignatureHeader } from '../../domain/webhooks/webhook-signature.ts';
import type { GuardedClient, HttpExchange } from '../guarded-http/guarded-client.ts';
import { GuardedHttpError } from '../guarded-http/http-errors.ts';
import type { OwnReceiver } from './own-receiver.ts';

export interface WebhookTransportOptions {
  readonly client: GuardedClient;
  /** The gateway's own receiver, and a client that may reach it. Undefined in production. */
  readonly own?: { readonly receiver: OwnReceiver; readonly client: GuardedClient } | undefined;
  /** SERVICE_NAME. It is the middle part of the header names and the beginning of the user agent. */
  readonly serviceName: string;
  /** Time limit in ms for the whole attempt. Default: 10,000 (R163). */
  readonly timeoutMs?: number;
}

/** A header whose value is made for each attempt. */
interface ChangingHeader extends Pick<DeliveryHeader, 'name' | 'isAlwaysSent'> {
  readonly note: string;
  /** Returns the value for an attempt. Undefined: the attempt goes without the header. */
  readonly valueOn: (request: AttemptRequest) => string | undefined;
}

/** Time limit in ms for one attempt, including the name lookup (R32, R163). */
const ATTEMPT_TIMEOUT_MS = 10_000;
/** Largest number of bytes of an answer that are read and stored (R30, R32). */
const MAX_RESPONSE_BYTES = 10_240;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Creates the transport of webhook deliveries. It owns the clients, and `close` closes them. Throws if `serviceName`
 * cannot be part of a header name.
 */
export function createWebhookTransport(options: WebhookTransportOptions): WebhookTransport {
  const { client, own, serviceName, timeoutMs = ATTEMPT_TIMEOUT_MS } = options;
  if (!/^[A-Za-z0-9-]+$/.test(serviceName)) {
    throw new Error(`"${serviceName}" cannot stand in header names: use letters, digits and hyphens`);
  }
  const headerNames = {
    signature: `X-${serviceName}-Signature`,
    previousSignature: `X-${serviceName}-Previous-Signature`,
    event: `X-${serviceName}-Event`,
    delivery: `X-${serviceName}-Delivery`,
  };
  // Both `headersOf` and `attempt` read these two, so that what is shown cannot differ from what is sent.
  const constant = ({ event, deliveryId }: Pick<AttemptRequest, 'deliveryId' | 'event'>) => ({
    'User-Agent': `${serviceName}-Webhooks/1.0`,
    'Content-Type': 'application/json',
    [headerNames.event]: event,
    [headerNames.delivery]: deliveryId,
  });
  const changing: readonly ChangingHeader[] = [
    {
      name: headerNames.signature,
      isAlwaysSent: true,
      note: 'Changes with each attempt: it signs the time of the attempt and the body.',
      valueOn: ({ secret, at, body }) => webhookSignatureHeader(secret, secondsOf(at), body),
    },
    {
      name: headerNames.previousSignature,
      isAlwaysSent: false,
      note: 'Changes with each attempt. Sent only while the secret before the last rotation signs too.',
      valueOn: ({ previousSecret, at, body }) =>
        previousSecret === undefined
          ? undefined
          : webhookSignatureHeader(previousSecret, secondsOf(at), body),
    },
    {
      name: 'traceparent',
      isAlwaysSent: false,
      note: 'Changes with each attempt. Sent only while the gateway traces messages.',
      valueOn: ({ traceparent }) => traceparent,
    },
  ];

  // Returns the client for a URL. It is called when a URL is registered and again at each attempt, both with the stored
  // text of the URL.
  const clientFor = (url: string) => (own?.receiver.admits(url) ? own.client : client);

  const check = async (by: GuardedClient, url: string): Promise<string> => {
    try {
      return await by.checkUrl(url);
    } catch (error) {
      if (error instanceof GuardedHttpError) throw new TargetRefused(error.message);
      throw error;
    }
  };

  const attempt = async (request: AttemptRequest): Promise<AttemptResult> => {
    const { accountId, url, body } = request;
    const headers: Record<string, string> = constant(request);
    for (const { name, valueOn } of changing) {
      const value = valueOn(request);
      if (value !== undefined) headers[name] = value;
    }
    return toResult(
      await clientFor(url).request({
        accountId,
        url,
        method: 'POST',
        headers,
        body,
        timeoutMs,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      }),
    );
  };
  return {
    headerNames,
    headersOf: (delivery) => [
      ...Object.entries(constant(delivery)).map(([name, value]) => ({
        name,
        value,
        isAlwaysSent: true,
        note: null,
      })),
      ...changing.map(({ name, isAlwaysSent, note }) => ({ name, value: null, isAlwaysSent, note })),
    ],
    get simulatorUrl() {
      return own?.receiver.url ?? null;
    },
    checkTarget: (url) => check(clientFor(url), url),
    async checkAddress(url) {
      await check(client, url);
    },
    attempt,
    async close() {
      await Promise.all([client.close(), own?.client.close()]);
    },
  };
}

const secondsOf = (at: Date) => Math.floor(at.getTime() / 1000);

function toResult(exchange: HttpExchange): AttemptResult {
  const { durationMs } = exchange;
  if (exchange.kind === 'error') {
    return { ok: false, httpStatus: null, responseBody: null, errorMessage: exchange.message, durationMs };
  }
  const { status, body, incomplete } = exchange;
  // A 2xx answer whose body breaks off or times out counts as a failure and is retried (R163). A receiver can drop a
  // repeated event, but cannot recover a lost event. A body that was cut at the limit counts as complete, because the
  // gateway itself stopped reading.
  const ok = status >= 200 && status < 300 && incomplete === null;
  return {
    ok,
    httpStatus: status,
    responseBody: body,
    errorMessage: ok ? null : wordsFor(exchange),
    durationMs,
  };
}

function wordsFor({ status, incomplete }: Extract<HttpExchange, { kind: 'response' }>): string {
  const redirect = REDIRECTS.has(status) ? '; redirects are not followed' : '';
  const broken = incomplete === null ? '' : `, but ${incomplete.message}`;
  return `answered ${status}${broken}${redirect}`;
}
