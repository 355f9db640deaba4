import { DELIVERY_STATUSES, EVENT_TYPES } from '../../../domain/webhooks/webhook.ts';
import { formatName } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';
import { Countdown } from './countdown.tsx';
import type { DeliveryRowFragment, DeliveryStatus } from './webhooks.generated.ts';

/** The statuses of deliveries, with the names that GraphQL gives them. */
export const DELIVERY_STATUS_NAMES = DELIVERY_STATUSES.map(
  (status) => status.toUpperCase() as DeliveryStatus,
);

const ANY = { value: '', label: t('Any') };
/** Options of a filter by status. */
export const STATUS_OPTIONS = [
  ANY,
  ...DELIVERY_STATUS_NAMES.map((each) => ({ value: each as string, label: formatName(each) })),
];
/** Options of a filter by event type. */
export const EVENT_OPTIONS = [
  ANY,
  ...EVENT_TYPES.map((event) => ({ value: event as string, label: event as string })),
];

/** Shows the status of a delivery, and counts down to its next attempt. */
export function DeliveryState({
  of: { status, nextRetryAt },
}: {
  of: Pick<DeliveryRowFragment, 'status' | 'nextRetryAt'>;
}) {
  return (
    <span className="row">
      <Badge status={status} />
      {nextRetryAt !== null && <Countdown to={nextRetryAt} />}
    </span>
  );
}
