import type { Complete } from '../../lib/document.ts';
import type { CreateApiKeyInput, FirstRunQuery, RegisterWebhookInput } from './first-run.generated.ts';

export type FirstRunData = Complete<FirstRunQuery>;
export type Delivery = FirstRunData['deliveries']['nodes'][number];
export type Message = FirstRunData['newest']['nodes'][number];

/** The key of the first steps: no more than they need. */
export const NEW_KEY: CreateApiKeyInput = {
  name: 'First steps',
  scopes: ['SEND_SMS', 'READ_MESSAGES', 'MANAGE_WEBHOOKS'],
  environment: 'PRODUCTION',
};
export const WEBHOOK_EVENTS: RegisterWebhookInput['events'] = ['sms.sent', 'sms.failed'];

/** How far an account has come; every step's end is read from what there is, not remembered. */
export interface Progress {
  /** A production key that works and may do what the steps need, and not everything. */
  readonly key: FirstRunData['apiKeys'][number] | undefined;
  readonly webhook: FirstRunData['webhooks'][number] | undefined;
  readonly message: Message | undefined;
  /** The newest delivery that was received, or else the newest. */
  readonly delivery: Delivery | undefined;
  readonly isDelivered: boolean;
  readonly isReceived: boolean;
  /** How many of the four steps are done. */
  readonly done: number;
}

/** What the answer says of the four steps at `now`. */
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
