import { t } from '../../lib/words.ts';
import { T } from '../../ui/t.tsx';
import { successRate } from './webhook-rules.ts';
import type { WebhookRowFragment } from './webhooks.generated.ts';

/** Shows the success rate of a webhook's deliveries, and how many succeeded, failed and wait. */
export function Health({ of: stats }: { of: WebhookRowFragment['stats'] }) {
  const { succeeded, failed, pending } = stats;
  const rate = successRate(stats);
  return (
    <>
      <div>
        {rate === undefined ? (
          <span className="quiet">{t('nothing delivered yet')}</span>
        ) : (
          t('{rate} succeeded', { rate })
        )}
      </div>
      <div className="field-hint">
        <T
          text="{succeeded} succeeded · {failed} failed · {pending} pending"
          succeeded={succeeded}
          failed={failed}
          pending={pending}
        />
      </div>
    </>
  );
}
