import type { Complete } from '../../lib/document.ts';
import type { CreateApiKeyInput, FirstRunQuery, RegisterWebhookInput } from './first-run.generated.ts';

export type FirstRunData = Complete<FirstRunQuery>;
export type Delivery = FirstRunData['deliveries']['nodes'][number];
export type Message = FirstRunData['newest']['nodes'][number];

/** The key of the first steps, with only the scopes they need. */
export const NEW_KEY: CreateApiKeyInput = {
  name: 'First steps',
  scopes: ['SEND_SMS', 'READ_MESSAGES', 'MANAGE_WEBHOOKS'],
  environment: 'PRODUCTION',
};
export const WEBHOOK_EVENTS: RegisterWebhookInput['events'] = ['sms.sent', 'sms.failed'];

/** The progress of an account. Each step is judged by what exists, not by what was remembered. */
export interface Progress {
  /** An active production key with the scopes of the steps, but without FULL_ACCESS. */
  readonly key: FirstRunData['apiKeys'][number] | undefined;
  readonly webhook: FirstRunData['webhooks'][number] | undefined;
  readonly message: Message | undefined;
  /** The newest successful delivery, else the newest one. */
  readonly delivery: Delivery | undefined;
  readonly isDelivered: boolean;
  readonly isReceived: boolean;
  /** How many of the four steps are done. */
  readonly done: number;
}

/** The progress at `now`, from the answer of the query. */
export function progressOf(data: FirstRunData, now: Date): Progress {
  const key = data.apiKeys.find(
    ({ scopes, environment, revokedAt, expiresAt }) =>
      environment === NEW_KEY.environment &&
      revokedAt === null &&
      (expiresAt === null || new Date(expiresAt) > now) &&
      NEW_KEY.scopes.every((scope) => scopes.includes(scope)),
  );
  const webhook = data.webhooks.find(
    ({ isActive, events }) => isActive && WEBHOOK_EVENTS.some((event) => events.includes(event)),
  );
  const received = data.received.nodes[0];
  const isDelivered = data.delivered.nodes.length > 0;
  const isReceived = received !== undefined;
  return {
    key,
    webhook,
    message: data.newest.nodes[0],
    delivery: received ?? data.deliveries.nodes[0],
    isDelivered,
    isReceived,
    done: [key, webhook, isDelivered, isReceived].filter(Boolean).length,
  };
}
