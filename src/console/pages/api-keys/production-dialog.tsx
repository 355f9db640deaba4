import { formatMoney, formatName } from '../../lib/format.ts';
import { useViewer } from '../../lib/session.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import type { Scope } from './api-keys.generated.ts';

/** Asks before a key works in production or may do more there, and says what that opens. */
export function ProductionDialog({
  name,
  scopes,
  isMore = false,
  confirmLabel,
  onConfirm,
  onClose,
}: {
  name: string;
  /** The scopes that the key gets. */
  scopes: readonly Scope[];
  /** True if the key works in production already and gets these scopes in addition. */
  isMore?: boolean;
  confirmLabel: string;
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const { account } = useViewer();
  return (
    <ConfirmDialog
      title={isMore ? `Let “${name}” do more in production?` : `Open production to “${name}”?`}
      consequence={
        <>
          {isMore
            ? 'Programs with this key may then also do this in production: '
            : 'Programs with this key then act in production: '}
          {scopes.map(formatName).join(', ')}. Messages reach people and are charged
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
