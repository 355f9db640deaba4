import { useState } from 'react';
import { counted } from '../../lib/counts.ts';
import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Select } from '../../ui/field.tsx';
import { OVERLAPS } from '../../ui/overlaps.ts';
import { T } from '../../ui/t.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { RotateWebhookSecret, type WebhookRowFragment } from './webhooks.generated.ts';

/** Replaces the secret of a webhook by a new one, and shows it once. */
export function RotateSecret({ of: webhook }: { of: WebhookRowFragment }) {
  const rotate = useApiMutation(RotateWebhookSecret);
  const [secret, setSecret] = useState<string>();
  const [overlap, setOverlap] = useState<string>(OVERLAPS[0].value);
  const isOverlap = overlap !== '0';
  return (
    <section className="card stack" aria-labelledby="rotate">
      <h2 id="rotate">{t('Rotate the secret')}</h2>
      <p>
        <T
          text="A new secret replaces this one. Deliveries under way, {pending} now, are signed with it from their next attempt on. During the time you choose, a second header carries the signature by the old secret. Receivers that use an SDK accept both."
          pending={webhook.stats.pending}
        />
      </p>
      <Select
        name="overlapSeconds"
        label={t('The old secret still signs')}
        options={OVERLAPS}
        value={overlap}
        onChange={(event) => setOverlap(event.currentTarget.value)}
      />
      <div className="row">
        <ConfirmButton
          title={t('Rotate the secret?')}
          consequence={
            isOverlap ? (
              <T
                text="{deliveries} still pending and every new one are signed with both secrets for {overlap}, and then with the new one."
                deliveries={counted(webhook.stats.pending, 'delivery')}
                overlap={OVERLAPS.find(({ value }) => value === overlap)?.label}
              />
            ) : (
              <T
                text="The old secret ends at once. {deliveries} still pending and every new one are signed with the new secret, so have your receiver ready to take it."
                deliveries={counted(webhook.stats.pending, 'delivery')}
              />
            )
          }
          confirmLabel={t('Rotate now')}
          onConfirm={async () => {
            const { rotateWebhookSecret } = await rotate.mutateAsync({
              id: webhook.id,
              overlapSeconds: Number(overlap),
            });
            setSecret(rotateWebhookSecret.secret);
          }}
        >
          {t('Rotate')}
        </ConfirmButton>
      </div>
      {secret !== undefined && (
        <SecretDialog
          title={t("Your webhook's new secret")}
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </section>
  );
}
