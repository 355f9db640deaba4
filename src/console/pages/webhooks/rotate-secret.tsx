import { useState } from 'react';
import { useApiMutation } from '../../lib/queries.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { deliveriesText } from './webhook-rules.ts';
import { RotateWebhookSecret, type WebhookRowFragment } from './webhooks.generated.ts';

/** Replaces the secret of a webhook by a new one, and shows it once. */
export function RotateSecret({ of: webhook }: { of: WebhookRowFragment }) {
  const rotate = useApiMutation(RotateWebhookSecret);
  const [secret, setSecret] = useState<string>();
  return (
    <section className="card stack" aria-labelledby="rotate">
      <h2 id="rotate">Rotate the secret</h2>
      <p>
        The new secret takes the place of the old one at once. Deliveries under way, {webhook.stats.pending}{' '}
        now, are signed with it from their next attempt on. Until your receiver has it, it refuses them; they
        are retried as usual, and you can retry those that fail in between.
      </p>
      <div className="row">
        <ConfirmButton
          title="Rotate the secret?"
          consequence={
            <>
              The old secret ends at once. {deliveriesText(webhook.stats.pending)} still pending and every new
              one are signed with the new secret, so have your receiver ready to take it.
            </>
          }
          confirmLabel="Rotate now"
          onConfirm={async () => {
            const { rotateWebhookSecret } = await rotate.mutateAsync({ id: webhook.id });
            setSecret(rotateWebhookSecret.secret);
          }}
        >
          Rotate
        </ConfirmButton>
      </div>
      {secret !== undefined && (
        <SecretDialog
          title="Your webhook's new secret"
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </section>
  );
}
