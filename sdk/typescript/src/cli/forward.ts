import { createHash, createHmac } from 'node:crypto';
import type { GatewayEvent } from '../types.generated.ts';
import { signWebhook } from '../webhook-signature.ts';

export interface Target {
  readonly url: string;
  readonly secret: string;
  /** The name of the service in the header names, as the setting `SERVICE_NAME` of the gateway. */
  readonly serviceName: string;
}

/** The result of one forwarding attempt. */
export interface Forwarded {
  readonly id: string;
  readonly event: string;
  readonly messageId: string | null;
  /** HTTP status of the response, or null if no response arrived. */
  readonly status: number | null;
  readonly durationMs: number;
  readonly error: string | null;
}

/** Time limit of an attempt, in ms. The gateway uses the same limit. */
const TIMEOUT_MS = 10_000;

/**
 * The secret that signs forwarded events. It is derived from the API key, so it is the same on every machine. The API
 * key cannot be computed from it.
 */
export function secretFor(apiKey: string): string {
  return `whsec_${createHmac('sha256', apiKey).update('messaging-gateway-client listen').digest('base64url')}`;
}

/**
 * The delivery id of an event. It is a hash of the event, so that each forwarding of the same event has the same id,
 * and receivers can drop duplicates.
 */
export function deliveryIdOf(event: GatewayEvent): string {
  const hex = createHash('sha256').update(JSON.stringify(event)).digest('hex');
  return hex.slice(0, 32).replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}

/** Posts an event to the receiver once, signed like a delivery of the gateway. */
export async function forward(event: GatewayEvent, { url, secret, serviceName }: Target): Promise<Forwarded> {
  const body = JSON.stringify(event);
  const id = deliveryIdOf(event);
  const startedAt = performance.now();
  const ended = (status: number | null, error: string | null): Forwarded => ({
    id,
    event: event.event,
    messageId: event.messageId ?? null,
    status,
    durationMs: Math.round(performance.now() - startedAt),
    error,
  });
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'User-Agent': `${serviceName}-Webhooks/1.0`,
        [`X-${serviceName}-Event`]: event.event,
        [`X-${serviceName}-Delivery`]: id,
        [`X-${serviceName}-Signature`]: await signWebhook(body, secret),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.arrayBuffer();
    return ended(response.status, null);
  } catch (error) {
    const { cause, message } = error as Error;
    return ended(null, cause instanceof Error && cause.message ? cause.message : message);
  }
}

export const wasTaken = ({ status }: Forwarded): boolean => status !== null && status >= 200 && status < 300;
