import { useState } from 'react';
import { formatAbsolute } from '../../lib/format.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { SelectionBar } from '../../ui/selection-bar.tsx';
import { useToast } from '../../ui/toast.tsx';
import { deliveriesText } from './webhook-rules.ts';
import {
  type DeliveryRowFragment,
  RedeliverMany,
  WebhookDeliveries,
  WebhookDetail,
} from './webhooks.generated.ts';

/** Returns a name of a delivery, such as `sms.sent of Nov 25, 2026, 4:15:01 PM`. */
export function nameOf({ event, createdAt }: DeliveryRowFragment): string {
  return `${event} of ${formatAbsolute(new Date(createdAt))}`;
}

/**
 * Retries the selected deliveries of a webhook. It asks once before it retries more than one. Afterwards it names each
 * delivery that was not sent again, and why.
 */
export function RetrySelected({
  webhookId,
  shown,
  chosen,
  onChange,
}: {
  webhookId: string;
  /** The deliveries that are shown. Others are never retried, because nobody sees them. */
  shown: readonly DeliveryRowFragment[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}) {
  const toast = useToast();
  /** The selection when the dialog opened. Live updates may change the rows below the dialog. */
  const [asked, setAsked] = useState<readonly DeliveryRowFragment[]>();
  const [left, setLeft] = useState<readonly { delivery: DeliveryRowFragment; message: string }[]>([]);
  const redeliver = useApiMutation(RedeliverMany, { refetches: [WebhookDeliveries, WebhookDetail] });
  const selected = shown.filter(({ id }) => chosen.has(id));
  // The callback belongs to the call: the second of two clicks at once is dropped with its callback.
  const retry = (deliveries: readonly DeliveryRowFragment[]) =>
    redeliver.mutateAsync(
      { webhookId, deliveryIds: deliveries.map(({ id }) => id) },
      {
        onSuccess: ({ redeliverMany: { queued, userErrors } }) => {
          onChange(new Set());
          setLeft(
            userErrors.flatMap(({ index, message }) => {
              const delivery = deliveries[index];
              return delivery ? [{ delivery, message }] : [];
            }),
          );
          if (queued > 0) toast({ text: `${deliveriesText(queued)} queued.` });
        },
      },
    );
  const start = () => {
    if (selected.length > 1) setAsked(selected);
    else retry(selected).catch(({ message }: Error) => toast({ text: message }));
  };
  return (
    <>
      {shown.length > 0 && (
        <SelectionBar keys={shown.map(({ id }) => id)} chosen={chosen} onChange={onChange}>
          <Button isDisabled={selected.length === 0} isBusy={redeliver.isPending} onClick={start}>
            Retry selected
          </Button>
        </SelectionBar>
      )}
      {left.length > 0 && selected.length === 0 && (
        <Notice tone="warn">
          {deliveriesText(left.length)} not sent again:
          {left.map(({ delivery, message }) => (
            <p key={delivery.id}>
              {nameOf(delivery)}: {message}
            </p>
          ))}
        </Notice>
      )}
      {asked && (
        <ConfirmDialog
          title={`Retry ${deliveriesText(asked.length)}?`}
          consequence={<Consequence of={asked} />}
          confirmLabel={`Retry ${deliveriesText(asked.length)}`}
          look="primary"
          onConfirm={() => retry(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

function Consequence({ of: deliveries }: { of: readonly DeliveryRowFragment[] }) {
  const received = deliveries.filter(({ status }) => status === 'SUCCESS').length;
  return (
    <p>
      They are posted again now, under the same ids.
      {received > 0 &&
        ` The receiver has accepted ${received} of them before. If it checks the ids, it ignores these.`}
    </p>
  );
}
