import { formatNumber } from '../../lib/format.ts';
import { successRate } from './webhook-rules.ts';
import type { WebhookRowFragment } from './webhooks.generated.ts';

/** Shows the success rate of a webhook's deliveries, and how many succeeded, failed and wait. */
export function Health({ of: stats }: { of: WebhookRowFragment['stats'] }) {
  const { succeeded, failed, pending } = stats;
  const rate = successRate(stats);
  return (
    <>
      <div>
        {rate === undefined ? <span className="quiet">nothing delivered yet</span> : `${rate} succeeded`}
      </div>
      <div className="field-hint">
        {formatNumber(succeeded)} succeeded · {formatNumber(failed)} failed · {formatNumber(pending)} pending
      </div>
    </>
  );
}
