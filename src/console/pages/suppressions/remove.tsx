import { useApiMutation } from '../../lib/queries.ts';
import { ConfirmButton } from '../../ui/confirm-button.tsx';
import { Notice } from '../../ui/notice.tsx';
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
    onDone: () => toast({ text: `The opt-out of ${address} is removed.` }),
  });
  return (
    <ConfirmButton
      title={`Remove the opt-out of ${address}?`}
      consequence={
        <div className="stack">
          {warning && <Notice tone="warn">{warning}</Notice>}
          <p>{meaning} The audit log keeps that you removed it.</p>
        </div>
      }
      confirmLabel="Remove"
      onConfirm={() => remove.mutateAsync({ id })}
    >
      Remove{' '}
      <span className="visually-hidden">
        the opt-out of {address}, {SUPPRESSED_CHANNEL_NAMES[channel]}
      </span>
    </ConfirmButton>
  );
}
