import { formatMoney, formatName } from '../../lib/format.ts';
import { useViewer } from '../../lib/session.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import type { Scope } from './api-keys.generated.ts';

/** Asks before a key works in production, and says what that opens. */
export function ProductionDialog({
  name,
  scopes,
  confirmLabel,
  onConfirm,
  onClose,
}: {
  name: string;
  scopes: readonly Scope[];
  confirmLabel: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const { account } = useViewer();
  return (
    <ConfirmDialog
      title={`Open production to “${name}”?`}
      consequence={
        <>
          Programs with this key then act in production: {scopes.map(formatName).join(', ')}. Messages reach
          people and are charged
          {account ? ` to the balance, ${formatMoney(account.balance, account.currency)} now.` : '.'}
        </>
      }
      confirmLabel={confirmLabel}
      look="primary"
      onConfirm={onConfirm}
      onClose={onClose}
    />
  );
}
