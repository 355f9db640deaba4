import { useLocation } from 'wouter';
import { useInEnvironment } from '../../lib/environment.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { useToast } from '../../ui/toast.tsx';
import { deliveriesText } from './webhook-rules.ts';
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
      title="Pause this webhook?"
      consequence={
        <>
          Nothing is posted to it until you resume it, and {deliveriesText(webhook.stats.pending)} still
          pending will fail. Events are recorded meanwhile: after resuming, retry the missed events.
        </>
      }
      confirmLabel="Pause it"
      onConfirm={() => update.mutateAsync({ id: webhook.id, input: { isActive: false } })}
    >
      Pause
    </ConfirmButton>
  );
}

/** Resumes a paused or disabled webhook. */
export function ResumeButton({ of: webhook }: { of: WebhookRowFragment }) {
  const toast = useToast();
  const update = useApiMutation(UpdateWebhook, {
    refetches: SHOWN,
    onDone: () => toast({ text: 'Resumed. It receives events from now on; retry the missed ones.' }),
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
      Resume
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
      title="Delete this webhook?"
      consequence={
        <>
          Nothing is posted to it any more, and {deliveriesText(webhook.stats.pending)} still pending will be
          canceled. Its secret is gone for good; the records of its deliveries stay with the messages.
        </>
      }
      confirmLabel="Delete for good"
      onConfirm={async () => {
        await remove.mutateAsync({ id: webhook.id });
        toast({ text: `The webhook to ${webhook.url} is deleted.` });
        navigate(inEnvironment('/webhooks'));
      }}
    >
      Delete
    </ConfirmButton>
  );
}
