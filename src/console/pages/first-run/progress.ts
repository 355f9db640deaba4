import type { Complete } from '../../lib/document.ts';
import { t } from '../../lib/words.ts';
import type { CreateApiKeyInput, FirstRunQuery, RegisterWebhookInput } from './first-run.generated.ts';

export type FirstRunData = Complete<FirstRunQuery>;
export type Delivery = FirstRunData['deliveries']['nodes'][number];
export type Message = FirstRunData['newest']['nodes'][number];

/** The key that the first steps create. It has only the scopes that they need. */
export const NEW_KEY: CreateApiKeyInput = {
  name: t('First steps'),
  scopes: ['SEND_SMS', 'READ_MESSAGES', 'MANAGE_WEBHOOKS'],
  environment: 'PRODUCTION',
};
export const WEBHOOK_EVENTS: RegisterWebhookInput['events'] = ['sms.sent', 'sms.failed'];

/** Which steps an account has done. It is computed from the account's keys, webhooks and messages, not stored. */
export interface Progress {
  /** An active production key that has the scopes of the steps, but not FULL_ACCESS. */
  readonly key: FirstRunData['apiKeys'][number] | undefined;
  readonly webhook: FirstRunData['webhooks'][number] | undefined;
  readonly message: Message | undefined;
  /** The newest successful delivery. If none succeeded, the newest one. */
  readonly delivery: Delivery | undefined;
  readonly isDelivered: boolean;
  readonly isReceived: boolean;
  /** Number of steps that are done, 0 to 4. */
  readonly done: number;
}

/** Computes the progress at the time `now` from the result of the query. */
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
