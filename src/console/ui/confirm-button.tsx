import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { Dialog, DialogActions } from './dialog.tsx';
import { Notice } from './notice.tsx';

/** A button for what cannot be undone: asks first, saying what will happen, and stays open when it fails. */
export function ConfirmButton({
  children,
  title,
  consequence,
  confirmLabel,
  onConfirm,
}: {
  children: ReactNode;
  /** The question, such as `Revoke “shop”?`. */
  title: string;
  consequence: ReactNode;
  confirmLabel: string;
  onConfirm: () => Promise<unknown>;
}) {
  const [isOpen, setIsOpen] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const confirm = async () => {
    setIsBusy(true);
    setFault(undefined);
    try {
      await onConfirm();
      setIsOpen(false);
    } catch (error) {
      setFault(error instanceof Error ? error.message : 'It did not work.');
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <>
      <Button look="danger" onClick={() => setIsOpen(true)}>
        {children}
      </Button>
      {isOpen && (
        <Dialog title={title} onClose={() => setIsOpen(false)}>
          <div>{consequence}</div>
          {fault && <Notice tone="bad">{fault}</Notice>}
          <DialogActions>
            <Button onClick={() => setIsOpen(false)}>Cancel</Button>
            <Button look="danger" isBusy={isBusy} onClick={confirm}>
              {confirmLabel}
            </Button>
          </DialogActions>
        </Dialog>
      )}
    </>
  );
}
