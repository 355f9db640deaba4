import { useLocation } from 'wouter';
import { counted } from '../../lib/counts.ts';
import { useInEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import {
  DeleteWebhook,
  UpdateWebhook,
  WebhookDetail,
  type WebhookRowFragment,
  Webhooks,
} from './webhooks.generated.ts';

const SHOWN = [WebhookDetail, Webhooks];

/** Pauses a webhook after a confirmation. Deliveries that wait for a retry fail. */
export function PauseButton({ of: webhook }: { of: WebhookRowFragment }) {
  const update = useApiMutation(UpdateWebhook, { refetches: SHOWN });
  return (
    <ConfirmButton
      title={t('Pause this webhook?')}
      consequence={
        <T
          text="Nothing is posted to it until you resume it, and {deliveries} still pending will fail. Events are recorded meanwhile: after resuming, retry the missed events."
          deliveries={counted(webhook.stats.pending, 'delivery')}
        />
      }
      confirmLabel={t('Pause it')}
      onConfirm={() => update.mutateAsync({ id: webhook.id, input: { isActive: false } })}
    >
      {t('Pause')}
    </ConfirmButton>
  );
}

/** Resumes a paused or disabled webhook. */
export function ResumeButton({ of: webhook }: { of: WebhookRowFragment }) {
  const toast = useToast();
  const update = useApiMutation(UpdateWebhook, {
    refetches: SHOWN,
    onDone: () => toast({ text: t('Resumed. It receives events from now on; retry the missed ones.') }),
  });
  return (
    <Button
      look="primary"
      isBusy={update.isPending}
      onClick={() =>
        update.mutate(
          { id: webhook.id, input: { isActive: true } },
          { onError: ({ message }) => toast({ text: message }) },
        )
      }
    >
      {t('Resume')}
    </Button>
  );
}

/** Deletes the webhook after a confirmation. */
export function DeleteButton({ of: webhook }: { of: WebhookRowFragment }) {
  const [, navigate] = useLocation();
  const inEnvironment = useInEnvironment();
  const toast = useToast();
  const remove = useApiMutation(DeleteWebhook, { refetches: [Webhooks] });
  return (
    <ConfirmButton
      title={t('Delete this webhook?')}
      consequence={
        <T
          text="Nothing is posted to it any more, and {deliveries} still pending will be canceled. Its secret is gone for good; the records of its deliveries stay with the messages."
          deliveries={counted(webhook.stats.pending, 'delivery')}
        />
      }
      confirmLabel={t('Delete for good')}
      onConfirm={async () => {
        await remove.mutateAsync({ id: webhook.id });
        toast({ text: t('The webhook to {url} is deleted.', { url: webhook.url }) });
        navigate(inEnvironment('/webhooks'));
      }}
    >
      {t('Delete')}
    </ConfirmButton>
  );
}
