import { formatNumber, formatPercent } from '../../lib/format.ts';
import type { WebhookRowFragment } from './webhooks.generated.ts';

/** Returns the state of a webhook: `ACTIVE`, `PAUSED` by a person, or `DISABLED` by the gateway. */
function statusOf({
  isActive,
  disabledReason,
}: Pick<WebhookRowFragment, 'isActive' | 'disabledReason'>): string {
  if (isActive) return 'ACTIVE';
  return disabledReason === null ? 'PAUSED' : 'DISABLED';
}

/**
 * Returns the health of a webhook that is on, from its newest delivery: `HEALTHY`, `RETRYING` or `FAILING`, or `ACTIVE`
 * before the first delivery is finished. Otherwise `PAUSED` or `DISABLED`.
 */
export function healthOf(
  webhook: Pick<WebhookRowFragment, 'isActive' | 'disabledReason'>,
  newest: { readonly status: string } | undefined,
): string {
  const status = statusOf(webhook);
  if (status !== 'ACTIVE') return status;
  switch (newest?.status) {
    case 'SUCCESS':
      return 'HEALTHY';
    case 'RETRYING':
      return 'RETRYING';
    case 'FAILED':
      return 'FAILING';
    default:
      return status;
  }
}

/** Formats the share of finished deliveries that succeeded. Undefined if no delivery is finished. */
export function successRate({ succeeded, failed }: WebhookRowFragment['stats']): string | undefined {
  const finished = succeeded + failed;
  if (finished === 0) return undefined;
  // Rounded down, so that one failure among many deliveries is not shown as 100 %.
  return formatPercent(Math.floor((succeeded / finished) * 1000) / 1000);
}

/** Formats a duration, such as `84 ms` or `2.4 s`. */
export function formatDuration(ms: number): string {
  return ms < 1_000 ? `${formatNumber(ms)} ms` : `${formatNumber(ms / 1_000, 1)} s`;
}
