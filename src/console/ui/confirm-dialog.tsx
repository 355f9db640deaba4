import { type ReactNode, useState } from 'react';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { Notice } from './notice.tsx';

export interface Question {
  /** The question as the title of the dialog, such as `Revoke “shop”?`. */
  readonly title: string;
  readonly consequence: ReactNode;
  readonly confirmLabel: string;
  /** Look of the button that confirms. Default: `danger`, for what destroys something. */
  readonly look?: 'danger' | 'primary';
  readonly onConfirm: () => Promise<unknown>;
}

/**
 * Asks for confirmation of an action and says what it will do. The dialog closes after success and stays open after a
 * failure. It cannot be closed while the action runs, because that would look like a cancel.
 */
export function ConfirmDialog({
  title,
  consequence,
  confirmLabel,
  look = 'danger',
  onConfirm,
  onClose,
}: Question & { readonly onClose: () => void }) {
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const confirm = async () => {
    setIsBusy(true);
    setFault(undefined);
    try {
      await onConfirm();
      onClose();
    } catch (error) {
      setFault(error instanceof Error ? error.message : t('It did not work.'));
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose} mustAnswer={isBusy}>
      <div>{consequence}</div>
      {fault && <Notice tone="bad">{fault}</Notice>}
      <DialogActions>
        <Button onClick={() => isBusy || onClose()}>{t('Cancel')}</Button>
        <Button look={look} isBusy={isBusy} onClick={confirm}>
          {confirmLabel}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
