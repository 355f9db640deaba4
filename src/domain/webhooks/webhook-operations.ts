import { recordChange } from '../audit/record-change.ts';
import {
  ACCOUNT_ROLES,
  accountEnvironmentOf,
  type Caller,
  type Environment,
  environmentOf,
  listedVisibility,
  refusal,
  visibilityOf,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, doneButUnread, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { EMPTY_PAGE, type Page, type PageRequest } from '../paging.ts';
import type { WebhookPatch } from '../ports/webhook-stores.ts';
import { TargetRefused } from '../ports/webhook-transport.ts';
import { truncate } from '../text.ts';
import { isUuid, uuidFloor } from '../uuid.ts';
import {
  DEFAULT_MAX_RETRIES,
  EVENT_TYPES,
  type EventType,
  MAX_RETRIES_LIMIT,
  SECRET_OVERLAP_MAX_SECONDS,
  WEBHOOK_LIMIT,
  type Webhook,
} from './webhook.ts';
import { isMasked, maskedUrl } from './webhook-url.ts';

export const WEBHOOK_DESCRIPTION_MAX_LENGTH = 500;

export interface RegisterWebhookInput {
  readonly url: string;
  readonly events: readonly string[];
  readonly description?: string | undefined;
  readonly maxRetries?: number | undefined;
  /** The environment that a member chooses. Default: production. An API key always registers in its own environment. */
  readonly environment?: Environment | undefined;
}
/** A change of an endpoint. A member that is absent is not changed. A null `description` removes the description. */
export interface UpdateWebhookInput {
  readonly id: string;
  readonly url?: string | undefined;
  readonly events?: readonly string[] | undefined;
  readonly description?: string | null | undefined;
  readonly isActive?: boolean | undefined;
  readonly maxRetries?: number | undefined;
}
/** An endpoint with its signing secret. The secret is shown only in this answer. */
export interface WebhookWithSecret {
  readonly webhook: Webhook;
  readonly secret: string;
}

/** The access for changing endpoints. `READ_WEBHOOKS` is the access for reading them. */
export const MANAGE_WEBHOOKS = {
  scopes: ['MANAGE_WEBHOOKS'],
  roles: ['OWNER', 'ADMIN', 'DEVELOPER'],
} as const;
/** The access for sending a delivery again. It needs no step-up, because no endpoint changes. */
export const REDELIVER = {
  scopes: ['MANAGE_WEBHOOKS'],
  roles: ['OWNER', 'ADMIN', 'DEVELOPER', 'SUPPORT'],
} as const;
export const READ_WEBHOOKS = { scopes: ['MANAGE_WEBHOOKS'], roles: ACCOUNT_ROLES } as const;

/** After an endpoint is deleted, its open deliveries are canceled. One statement looks at this many deliveries. */
const CANCEL_BATCH = 5_000;

/** Operations that manage webhook endpoints. */
export function webhookOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets, transport } = deps;

  async function checkUrl(url: string): Promise<string> {
    if (isMasked(url)) {
      const reason = 'it has *** where lists hide a value; give the whole URL';
      throw new DomainError('invalid_webhook_url', `The webhook URL cannot be used: ${reason}.`, {
        field: 'url',
        reason,
      });
    }
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

  /** Locks an endpoint, changes it, and writes the audit entry. If nothing differs, writes nothing. */
  function change(caller: Caller, id: string, action: string, patchOf: (webhook: Webhook) => WebhookPatch) {
    return uow.run(async (tx) => {
      const before = await tx.webhooks.lock(visibilityOf(caller), id);
      if (!before) throw notFound('Webhook');
      const patch = patchOf(before);
      if (Object.values(patch).every((value) => value === undefined)) return before;
      const after = await tx.webhooks.update(id, patch);
      await recordChange(tx, deps, caller, {
        accountId: before.accountId,
        action,
        target: id,
        before: auditedPart(before),
        after: auditedPart(after),
      });
      return after;
    });
  }

  return {
    /** Registers an endpoint (R29, R105–R109). */
    register: operation(
      'webhook.register',
      MANAGE_WEBHOOKS,
      async (caller, input: RegisterWebhookInput): Promise<WebhookWithSecret> => {
        const owner = accountEnvironmentOf(caller, input.environment);
        const { events, maxRetries, description } = checkAll({
          events: () => checkEvents(input.events),
          maxRetries: () => checkMaxRetries(input.maxRetries ?? DEFAULT_MAX_RETRIES),
          description: () => checkDescription(input.description ?? null),
        });
        const url = await checkUrl(input.url);
        const secret = newWebhookSecret(ids);
        const webhook: Webhook = {
          id: ids.uuid(),
          ...owner,
          url,
          events,
          description,
          isActive: true,
          disabledReason: null,
          maxRetries,
          previousSecretEndsAt: null,
          createdAt: clock.now(),
        };
        await uow.run(async (tx) => {
          if ((await tx.webhooks.count(owner)) >= WEBHOOK_LIMIT) {
            throw new DomainError(
              'webhook_limit',
              `An account has at most ${WEBHOOK_LIMIT} webhooks in ${owner.environment}. Delete one that is not needed any more.`,
              { limit: WEBHOOK_LIMIT },
            );
          }
          await tx.webhooks.insert(webhook, secrets.seal(secret));
          await recordChange(tx, deps, caller, {
            accountId: owner.accountId,
            action: 'webhook.register',
            target: webhook.id,
            after: auditedPart(webhook),
          });
        });
        return { webhook, secret };
      },
    ),

    /**
     * Lists the account's endpoints, newest first (R28), with masked URLs (R212). Without `environment`, an API key
     * sees its own environment and a member sees both.
     */
    list: operation(
      'webhook.list',
      READ_WEBHOOKS,
      async (
        caller,
        { environment, ...page }: PageRequest & { readonly environment?: Environment | undefined },
      ): Promise<Page<Webhook>> => {
        const own = caller.kind === 'api-key' ? environmentOf(caller) : undefined;
        const visibility = listedVisibility(caller, environment ?? own);
        if (!visibility) return EMPTY_PAGE;
        const { rows, ...rest } = await stores.webhooks.page(visibility, page);
        return { ...rest, rows: rows.map(withMaskedUrl) };
      },
    ),

    /** Returns one endpoint. Callers who may change it see its whole URL (R212). */
    get: operation('webhook.get', READ_WEBHOOKS, async (caller, input: { readonly id: string }) => {
      const webhook = isUuid(input.id)
        ? await stores.webhooks.find(visibilityOf(caller), input.id)
        : undefined;
      if (!webhook) throw notFound('Webhook');
      return shownWebhook(caller, webhook);
    }),

    /** Returns the names of the headers that deliveries carry (R151–R154). */
    headers: operation('webhook.headers', READ_WEBHOOKS, async () => transport.headerNames),

    /**
     * Changes an endpoint, with effect from the next attempt (R28). Activating it or changing its URL resets its
     * failures (R31). A `url` equal to the masked URL leaves the stored one unchanged (R212).
     */
    update: operation('webhook.update', MANAGE_WEBHOOKS, async (caller, input: UpdateWebhookInput) => {
      if (!isUuid(input.id)) throw notFound('Webhook');
      const { isActive } = input;
      const { description, events, maxRetries } = checkAll({
        description: () =>
          input.description === undefined ? undefined : checkDescription(input.description),
        events: () => input.events && checkEvents(input.events),
        maxRetries: () => (input.maxRetries === undefined ? undefined : checkMaxRetries(input.maxRetries)),
      });
      // Find the endpoint before its URL is resolved, so that requests with unknown ids cause no DNS look-ups.
      const known = await stores.webhooks.find(visibilityOf(caller), input.id);
      if (!known) throw notFound('Webhook');
      const isAsListed = input.url !== known.url && input.url === maskedUrl(known.url);
      const url = input.url === undefined || isAsListed ? undefined : await checkUrl(input.url);
      return change(caller, input.id, 'webhook.update', (before) => ({
        ...(url === undefined ? {} : { url }),
        ...(events === undefined ? {} : { events }),
        ...(description === undefined ? {} : { description }),
        ...(maxRetries === undefined ? {} : { maxRetries }),
        ...(isActive === undefined ? {} : { isActive }),
        ...(isActive ? { disabledReason: null } : {}),
        ...(isActive || (url !== undefined && url !== before.url) ? { failingSince: null } : {}),
      }));
    }),

    /**
     * Issues a new signing secret. The next attempt uses it (R111). The old one ends at once, or signs too for
     * `overlapSeconds` (R446).
     */
    rotateSecret: operation(
      'webhook.rotateSecret',
      MANAGE_WEBHOOKS,
      async (
        caller,
        input: { readonly id: string; readonly overlapSeconds?: number | undefined },
      ): Promise<WebhookWithSecret> => {
        const overlapSeconds = checkOverlap(input.overlapSeconds ?? 0);
        if (!isUuid(input.id)) throw notFound('Webhook');
        const secret = newWebhookSecret(ids);
        const sealed = secrets.seal(secret);
        const webhook = await change(caller, input.id, 'webhook.rotateSecret', () => ({
          secret: {
            sealed,
            previousEndsAt:
              overlapSeconds === 0 ? null : new Date(clock.now().getTime() + overlapSeconds * 1_000),
          },
        }));
        return { webhook, secret };
      },
    ),

    /** Deletes an endpoint and cancels its open deliveries. The records of the deliveries stay (R30). */
    remove: operation('webhook.delete', MANAGE_WEBHOOKS, async (caller, input: { readonly id: string }) => {
      if (!isUuid(input.id)) throw notFound('Webhook');
      const visibility = visibilityOf(caller);
      const { accountId } = visibility;
      await uow.run(async (tx) => {
        const webhook = await tx.webhooks.lock(visibility, input.id);
        if (!webhook) throw notFound('Webhook');
        await tx.webhooks.markDeleted(webhook.id, clock.now());
        await recordChange(tx, deps, caller, {
          accountId,
          action: 'webhook.delete',
          target: webhook.id,
          before: auditedPart(webhook),
        });
      });
      // Cancel the deliveries after the deletion has committed. From then on, a job that finds its endpoint deleted
      // also cancels its deliveries.
      try {
        for (let last: string | undefined = uuidFloor(new Date(0)); last !== undefined; ) {
          last = await stores.deliveries.cancelOpen(
            input.id,
            last,
            CANCEL_BATCH,
            'The endpoint was deleted.',
          );
        }
        await uow.run(async (tx) => tx.announceLive('delivery', [{ accountId, id: undefined }]));
      } catch (error) {
        // The endpoint is deleted, and only a later step failed. With a plain error, the client would believe that the
        // endpoint still exists (R217).
        throw doneButUnread({ webhookId: input.id }, error);
      }
      return { id: input.id };
    }),
  };
}

/**
 * Returns the properties of an endpoint that the audit log stores. It omits the secret and masks the query values of
 * the URL.
 */
function auditedPart({
  environment,
  url,
  events,
  description,
  isActive,
  disabledReason,
  maxRetries,
  previousSecretEndsAt,
}: Webhook) {
  return {
    environment,
    url: maskedUrl(url),
    events,
    description,
    isActive,
    disabledReason,
    maxRetries,
    ...(previousSecretEndsAt && { previousSecretEndsAt: previousSecretEndsAt.toISOString() }),
  };
}

/**
 * Returns the endpoint as the caller may see it. The URL is masked unless the caller may change the endpoint (R212).
 */
export function shownWebhook(caller: Caller, webhook: Webhook): Webhook {
  return refusal(MANAGE_WEBHOOKS, caller) ? withMaskedUrl(webhook) : webhook;
}

const withMaskedUrl = (webhook: Webhook): Webhook => ({ ...webhook, url: maskedUrl(webhook.url) });

function newWebhookSecret(ids: Dependencies['ids']): string {
  return `whsec_${ids.random(32).toString('base64url')}`;
}

function checkEvents(events: readonly string[]): EventType[] {
  if (events.length === 0)
    throw validationError([{ path: 'events', message: 'must name at least one event' }]);
  const known: readonly string[] = EVENT_TYPES;
  const faults = events.flatMap((event, index) =>
    known.includes(event)
      ? []
      : [
          {
            path: `events.${index}`,
            message: `Unknown event type ${truncate(event)}. Known: ${EVENT_TYPES.join(', ')}`,
            value: truncate(event),
          },
        ],
  );
  const [first] = faults;
  if (first) {
    const details = { field: 'events', value: first.value };
    throw new DomainError('invalid_event_type', first.message, details, undefined, { faults });
  }
  return [...new Set(events)] as EventType[];
}

function checkMaxRetries(value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > MAX_RETRIES_LIMIT) {
    throw validationError([
      { path: 'maxRetries', message: `must be a whole number from 0 to ${MAX_RETRIES_LIMIT}` },
    ]);
  }
  return value;
}

function checkOverlap(value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > SECRET_OVERLAP_MAX_SECONDS) {
    throw validationError([
      { path: 'overlapSeconds', message: `must be a whole number from 0 to ${SECRET_OVERLAP_MAX_SECONDS}` },
    ]);
  }
  return value;
}

function checkDescription(value: string | null): string | null {
  if (value !== null && value.length > WEBHOOK_DESCRIPTION_MAX_LENGTH) {
    throw validationError([
      { path: 'description', message: `must have at most ${WEBHOOK_DESCRIPTION_MAX_LENGTH} characters` },
    ]);
  }
  return value;
}
