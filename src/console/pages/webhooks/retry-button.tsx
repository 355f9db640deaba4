import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { useToast } from '../../ui/toast.tsx';
import { DeliveryDetail, Redeliver, WebhookDeliveries, WebhookDetail } from './webhooks.generated.ts';

/** Queues a delivery again, at once. */
export function RetryButton({ deliveryId, label }: { deliveryId: string; label: string }) {
  const toast = useToast();
  const redeliver = useApiMutation(Redeliver, {
    refetches: [DeliveryDetail, WebhookDeliveries, WebhookDetail],
    onDone: () => toast({ text: t('Queued: it is tried again now, under the same id.') }),
  });
  return (
    <Button
      isBusy={redeliver.isPending}
      onClick={() => redeliver.mutate({ deliveryId }, { onError: ({ message }) => toast({ text: message }) })}
    >
      {label}
    </Button>
  );
}
