import { inEnvironment } from '../../lib/environment.ts';
import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { CHANNEL_NAMES, statusTone, statusWords, whom } from '../../pages/messages/message-text.ts';
import type { SearchQuery } from './search.generated.ts';

type Found = NonNullable<NonNullable<SearchQuery['search']>[number]>;

/** A search result as it is shown: what it is, its state, and where it leads. */
export interface Result {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly detail: string;
  /** A status that `Badge` knows. */
  readonly status: string | undefined;
  /** The state in words, if the status alone does not say it. */
  readonly words?: string | undefined;
  readonly at?: string | undefined;
  readonly href: string;
}

/** Returns the result to show, or undefined for an object that has no page. */
export function resultOf(found: Found): Result | undefined {
  switch (found.__typename) {
    case 'Message':
      return {
        id: found.id,
        kind: found.environment === 'SANDBOX' ? t('Sandbox message') : t('Message'),
        title: whom(found.to),
        detail: `${CHANNEL_NAMES[found.channel]} · ${found.content || t('The text is no longer kept.')}`,
        status: statusTone(found),
        words: statusWords(found),
        at: found.createdAt,
        href: `/messages/${found.id}`,
      };
    case 'WebhookDelivery':
      return {
        id: found.id,
        kind: t('Delivery'),
        title: found.event,
        detail: found.webhook?.url ?? t('the webhook is deleted'),
        status: found.deliveryStatus,
        at: found.createdAt,
        href: `/webhooks/deliveries/${found.id}`,
      };
    case 'Contact': {
      const facts = [found.contactName, found.phone, found.contactEmail].filter((each) => each);
      return {
        id: found.id,
        kind: t('Contact'),
        title: facts[0] ?? found.id,
        detail: facts.slice(1).join(' · '),
        status: found.environment === 'SANDBOX' ? 'SANDBOX' : undefined,
        href: inEnvironment(`/contacts/${found.id}`, found.environment),
      };
    }
    case 'ApiKey':
      return {
        id: found.id,
        kind: t('Key'),
        title: found.name,
        detail: found.keyId,
        status: found.revokedAt ? 'REVOKED' : found.environment,
        href: `/api-keys/${found.keyId}`,
      };
    case 'Webhook':
      return {
        id: found.id,
        kind: t('Webhook'),
        title: found.description || found.url,
        detail: found.url,
        status: found.isActive ? 'ACTIVE' : 'DISABLED',
        href: inEnvironment(`/webhooks/${found.id}`, found.environment),
      };
    case 'ApiRequest':
      return {
        id: found.id,
        kind: t('Request'),
        title: `${found.method} ${found.path}`,
        detail: found.requestId,
        status: found.errorCode === null ? 'SUCCESS' : 'FAILED',
        words: String(found.httpStatus),
        at: found.at,
        href: `/requests?request=${found.id}`,
      };
    case 'User':
      return {
        id: found.id,
        kind: t('Person'),
        title: found.email,
        detail: formatName(found.role),
        status: undefined,
        href: '/members',
      };
    default:
      return undefined;
  }
}
