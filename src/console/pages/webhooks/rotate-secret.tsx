import { useState } from 'react';
import { useApiMutation } from '../../lib/queries.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Select } from '../../ui/field.tsx';
import { OVERLAPS } from '../../ui/overlaps.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { deliveriesText } from './webhook-rules.ts';
import { RotateWebhookSecret, type WebhookRowFragment } from './webhooks.generated.ts';

/** Replaces the secret of a webhook by a new one, and shows it once. */
export function RotateSecret({ of: webhook }: { of: WebhookRowFragment }) {
  const rotate = useApiMutation(RotateWebhookSecret);
  const [secret, setSecret] = useState<string>();
  const [overlap, setOverlap] = useState<string>(OVERLAPS[0].value);
  const isOverlap = overlap !== '0';
  return (
    <section className="card stack" aria-labelledby="rotate">
      <h2 id="rotate">Rotate the secret</h2>
      <p>
        A new secret replaces this one. Deliveries under way, {webhook.stats.pending} now, are signed with it
        from their next attempt on. During the time you choose, a second header carries the signature by the
        old secret. Receivers that use an SDK accept both.
      </p>
      <Select
        name="overlapSeconds"
        label="The old secret still signs"
        options={OVERLAPS}
        value={overlap}
        onChange={(event) => setOverlap(event.currentTarget.value)}
      />
      <div className="row">
        <ConfirmButton
          title="Rotate the secret?"
          consequence={
            isOverlap ? (
              <>
                {deliveriesText(webhook.stats.pending)} still pending and every new one are signed with both
                secrets for {OVERLAPS.find(({ value }) => value === overlap)?.label}, and then with the new
                one.
              </>
            ) : (
              <>
                The old secret ends at once. {deliveriesText(webhook.stats.pending)} still pending and every
                new one are signed with the new secret, so have your receiver ready to take it.
              </>
            )
          }
          confirmLabel="Rotate now"
          onConfirm={async () => {
            const { rotateWebhookSecret } = await rotate.mutateAsync({
              id: webhook.id,
              overlapSeconds: Number(overlap),
            });
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
