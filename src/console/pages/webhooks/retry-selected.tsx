import { useRef, useState } from 'react';
import { counted } from '../../lib/counts.ts';
import { formatAbsolute } from '../../lib/format.ts';
import { type AnyDocument, useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { SelectionBar } from '../../ui/selection-bar.tsx';
import { useToast } from '../../ui/toast.tsx';
import { type DeliveryRowFragment, RedeliverMany, WebhookDetail } from './webhooks.generated.ts';

/** Returns a name of a delivery, such as `sms.sent of Nov 25, 2026, 4:15:01 PM`. */
export function nameOf({ event, createdAt }: DeliveryRowFragment): string {
  return t('{event} of {time}', { event, time: formatAbsolute(new Date(createdAt)) });
}

/** The webhook that receives a delivery, or why it receives nothing. */
export type Target = { readonly webhookId: string } | { readonly refusal: string };

interface Left {
  readonly delivery: DeliveryRowFragment;
  readonly message: string;
}

/**
 * Retries the selected deliveries of one or several webhooks. It asks once before it retries more than one. Afterwards
 * it names each delivery that was not sent again, and why.
 */
export function RetrySelected<Row extends DeliveryRowFragment>({
  list,
  targetOf,
  shown,
  chosen,
  onChange,
}: {
  /** The query of the list, which is read again afterwards. */
  list: AnyDocument;
  targetOf: (delivery: Row) => Target;
  /** The deliveries that are shown. Others are never retried, because nobody sees them. */
  shown: readonly Row[];
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
}) {
  const toast = useToast();
  /** The selection when the dialog opened. Live updates may change the rows below the dialog. */
  const [asked, setAsked] = useState<readonly Row[]>();
  const [left, setLeft] = useState<readonly Left[]>([]);
  const redeliver = useApiMutation(RedeliverMany, { refetches: [list, WebhookDetail] });
  const running = useRef<Promise<void>>(undefined);
  const selected = shown.filter(({ id }) => chosen.has(id));
  /** Retries deliveries of one webhook. */
  const retryOf = async (webhookId: string, deliveries: readonly Row[]) => {
    const deliveryIds = deliveries.map(({ id }) => id);
    const { redeliverMany } = await redeliver.mutateAsync({ webhookId, deliveryIds });
    const named = redeliverMany.userErrors.flatMap(({ index, message }): Left[] => {
      const delivery = deliveries[index];
      return delivery ? [{ delivery, message }] : [];
    });
    return { queued: redeliverMany.queued, named };
  };
  const retryAll = async (deliveries: readonly Row[]) => {
    const named: Left[] = [];
    const byWebhook = new Map<string, Row[]>();
    for (const delivery of deliveries) {
      const target = targetOf(delivery);
      if ('refusal' in target) named.push({ delivery, message: target.refusal });
      else byWebhook.set(target.webhookId, [...(byWebhook.get(target.webhookId) ?? []), delivery]);
    }
    let queued = 0;
    for (const [webhookId, own] of byWebhook) {
      try {
        const retried = await retryOf(webhookId, own);
        queued += retried.queued;
        named.push(...retried.named);
      } catch (error) {
        // Deliveries of other webhooks may be queued already. So name those of this one, instead of failing as a whole.
        if (byWebhook.size === 1) throw error;
        const message = error instanceof Error ? error.message : String(error);
        named.push(...own.map((delivery) => ({ delivery, message })));
      }
    }
    onChange(new Set());
    setLeft(named);
    if (queued > 0) toast({ text: t('{deliveries} queued.', { deliveries: counted(queued, 'delivery') }) });
  };
  // The second of two clicks at once gets the run of the first.
  const retry = (deliveries: readonly Row[]) => {
    running.current ??= retryAll(deliveries).finally(() => {
      running.current = undefined;
    });
    return running.current;
  };
  const start = () => {
    if (selected.length > 1) setAsked(selected);
    else retry(selected).catch(({ message }: Error) => toast({ text: message }));
  };
  return (
    <>
      {shown.length > 0 && (
        <SelectionBar keys={shown.map(({ id }) => id)} chosen={chosen} onChange={onChange}>
          <Button isDisabled={selected.length === 0} isBusy={redeliver.isPending} onClick={start}>
            {t('Retry selected')}
          </Button>
        </SelectionBar>
      )}
      {left.length > 0 && selected.length === 0 && (
        <Notice tone="warn">
          {t('{deliveries} not sent again:', { deliveries: counted(left.length, 'delivery') })}
          {left.map(({ delivery, message }) => (
            <p key={delivery.id}>
              {nameOf(delivery)}: {message}
            </p>
          ))}
        </Notice>
      )}
      {asked && (
        <ConfirmDialog
          title={t('Retry {deliveries}?', { deliveries: counted(asked.length, 'delivery') })}
          consequence={<Consequence of={asked} webhooks={webhooksOf(asked.map(targetOf))} />}
          confirmLabel={t('Retry {deliveries}', { deliveries: counted(asked.length, 'delivery') })}
          look="primary"
          onConfirm={() => retry(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

/** Returns the number of webhooks among the targets. */
function webhooksOf(targets: readonly Target[]): number {
  return new Set(targets.flatMap((target) => ('refusal' in target ? [] : target.webhookId))).size;
}

function Consequence({ of: deliveries, webhooks }: { of: readonly DeliveryRowFragment[]; webhooks: number }) {
  const received = deliveries.filter(({ status }) => status === 'SUCCESS').length;
  return (
    <p>
      {webhooks > 1
        ? t('They are posted again now to {webhooks} webhooks, under the same ids.', { webhooks })
        : t('They are posted again now, under the same ids.')}{' '}
      {received > 0 &&
        t('The receiver has accepted {received} of them before. If it checks the ids, it ignores these.', {
          received,
        })}
    </p>
  );
}
