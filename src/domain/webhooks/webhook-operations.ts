import { accountIdOf } from '../accounts/account-operations.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { TargetRefused } from '../ports/webhook-transport.ts';
import {
  DEFAULT_MAX_RETRIES,
  EVENT_TYPES,
  type EventType,
  MAX_RETRIES_LIMIT,
  type Webhook,
  WEBHOOK_LIMIT,
} from './webhook.ts';

export const WEBHOOK_DESCRIPTION_MAX_LENGTH = 500;

export interface RegisterWebhookInput {
  readonly url: string;
  readonly events: readonly string[];
  readonly description?: string | undefined;
  readonly maxRetries?: number | undefined;
}
/** An endpoint with its secret, which is shown this once. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

const MANAGE = { scopes: ['MANAGE_WEBHOOKS'], roles: ['OWNER', 'ADMIN', 'DEVELOPER'] } as const;

/** Endpoints that are told of events. */
export function webhookOperations(deps: Dependencies) {
  const { uow, clock, ids, secrets, transport } = deps;

  async function checkUrl(url: string): Promise<string> {
    try {
      return await transport.checkTarget(url);
    } catch (error) {
      if (!(error instanceof TargetRefused)) throw error;
      throw new DomainError('invalid_webhook_url', `The webhook URL cannot be used: ${error.reason}`, {
        field: 'url',
        reason: error.reason,
      });
    }
  }

  return {
    /** Registers an endpoint (contract, POST /developers/webhooks; decision 29). */
    register: operation(
      'webhook.register',
      MANAGE,
      async (caller, input: RegisterWebhookInput): Promise<WebhookWithSecret> => {
        const accountId = accountIdOf(caller);
        const events = checkEvents(input.events);
        const maxRetries = checkMaxRetries(input.maxRetries);
        const url = await checkUrl(input.url);
        const secret = newWebhookSecret(ids);
        const webhook: Webhook = {
          id: ids.uuid(),
          accountId,
          url,
          events,
          description: input.description ?? null,
          isActive: true,
          disabledReason: null,
          maxRetries,
          createdAt: clock.now(),
        };
        await uow.run(async (tx) => {
          if ((await tx.webhooks.count(accountId)) >= WEBHOOK_LIMIT) {
            throw new DomainError(
              'webhook_limit',
              `An account has at most ${WEBHOOK_LIMIT} webhooks. Delete one that is not needed any more.`,
              { limit: WEBHOOK_LIMIT },
            );
          }
          await tx.webhooks.insert(webhook, secrets.seal(secret));
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'webhook.register',
            target: webhook.id,
            after: { url, events, maxRetries },
          });
        });
        return { webhook, secret };
      },
    ),
  };
}

function newWebhookSecret(ids: Dependencies['ids']): string {
  return `whsec_${ids.random(32).toString('base64url')}`;
}

function checkEvents(events: readonly string[]): EventType[] {
  if (events.length === 0) throw validationError([{ path: 'events', message: 'must name at least one event' }]);
  const known: readonly string[] = EVENT_TYPES;
  const unknown = events.find((event) => !known.includes(event));
  if (unknown !== undefined) {
    throw new DomainError(
      'invalid_event_type',
      `Unknown event type ${unknown.slice(0, 40)}. Known: ${EVENT_TYPES.join(', ')}`,
      { field: 'events', value: unknown.slice(0, 40) },
    );
  }
  return [...new Set(events)] as EventType[];
}

function checkMaxRetries(maxRetries: number | undefined): number {
  const value = maxRetries ?? DEFAULT_MAX_RETRIES;
  if (!Number.isInteger(value) || value < 0 || value > MAX_RETRIES_LIMIT) {
    throw validationError([{ path: 'maxRetries', message: `must be a whole number from 0 to ${MAX_RETRIES_LIMIT}` }]);
  }
  return value;
}
