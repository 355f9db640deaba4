import { formatMoney, formatName } from '../../lib/format.ts';
import { useViewer } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
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
  const names = scopes.map(formatName).join(', ');
  return (
    <ConfirmDialog
      title={
        isMore
          ? t('Let “{name}” do more in production?', { name })
          : t('Open production to “{name}”?', { name })
      }
      consequence={
        <>
          {isMore
            ? t('Programs with this key may then also do this in production: {names}.', { names })
            : t('Programs with this key then act in production: {names}.', { names })}{' '}
          {account && account.balance !== null
            ? t('Messages reach people and are charged to the balance, {balance} now.', {
                balance: formatMoney(account.balance, account.currency),
              })
            : t('Messages reach people and are charged.')}
        </>
      }
      confirmLabel={confirmLabel}
      look="primary"
      onConfirm={onConfirm}
      onClose={onClose}
    />
  );
}
