/** Sends webhook attempts through the guarded client (R29, R30, R32). */
import {
  type AttemptRequest,
  type AttemptResult,
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
  const fixed = { 'User-Agent': `${serviceName}-Webhooks/1.0`, 'Content-Type': 'application/json' };

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
    const { accountId, url, secret, previousSecret, deliveryId, event, body, at, traceparent } = request;
    const timestampSeconds = Math.floor(at.getTime() / 1000);
    const headers = {
      ...fixed,
      [headerNames.signature]: webhookSignatureHeader(secret, timestampSeconds, body),
      ...(previousSecret === undefined
        ? {}
        : {
            [headerNames.previousSignature]: webhookSignatureHeader(previousSecret, timestampSeconds, body),
          }),
      [headerNames.event]: event,
      [headerNames.delivery]: deliveryId,
      ...(traceparent === undefined ? {} : { traceparent }),
    };
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
