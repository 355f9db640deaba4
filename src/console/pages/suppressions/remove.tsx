import { useApiMutation } from '../../lib/queries.ts';
import { t } from '../../lib/words.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { T } from '../../ui/t.tsx';
import { useToast } from '../../ui/toast.tsx';
import { removalOf, SUPPRESSED_CHANNEL_NAMES } from './suppression-text.ts';
import { RemoveSuppression, type SuppressionRowFragment, Suppressions } from './suppressions.generated.ts';

/** Removes an opt-out after a confirmation that says what it means. */
export function RemoveSuppressionButton({ of }: { of: SuppressionRowFragment }) {
  const { id, address, channel } = of;
  const { meaning, warning } = removalOf(of);
  const toast = useToast();
  const remove = useApiMutation(RemoveSuppression, {
    refetches: [Suppressions],
    onDone: () => toast({ text: t('The opt-out of {address} is removed.', { address }) }),
  });
  return (
    <ConfirmButton
      title={t('Remove the opt-out of {address}?', { address })}
      consequence={
        <div className="stack">
          {warning && <Notice tone="warn">{warning}</Notice>}
          <p>
            {meaning} {t('The audit log keeps that you removed it.')}
          </p>
        </div>
      }
      confirmLabel={t('Remove')}
      onConfirm={() => remove.mutateAsync({ id })}
    >
      <T
        text="Remove <span>the opt-out of {address}, {channel}</span>"
        span={<span className="visually-hidden" />}
        address={address}
        channel={SUPPRESSED_CHANNEL_NAMES[channel]}
      />
    </ConfirmButton>
  );
}
