import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Button, isRepeated } from './button.tsx';
import { Notice } from './notice.tsx';
import './dialog.css';

/**
 * A modal dialog. It focuses its first field, keeps the focus inside, and returns the focus when it closes. Escape
 * closes it unless `mustAnswer`.
 * It ignores the second click of a double click: the first click may have opened it, so nobody has read it yet.
 */
export function Dialog({
  title,
  onClose,
  mustAnswer = false,
  isWide = false,
  children,
}: {
  title: string;
  onClose: () => void;
  /** True if Escape must not close it, for example because its content is shown only once. */
  mustAnswer?: boolean;
  /** True for wide content such as code. */
  isWide?: boolean;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    if (!shown?.open) shown?.showModal();
    shown?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    return () => {
      shown?.close();
      // The element that had the focus is gone if it was in another dialog.
      const back = before?.isConnected ? before : document.getElementById('main');
      if (back instanceof HTMLElement) back.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={isWide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onClickCapture={(event) => {
        if (!isRepeated(event)) return;
        event.preventDefault();
        event.stopPropagation();
      }}
      // Without this, Chromium closes the dialog on the second Escape, even if `onCancel` prevents it.
      onKeyDown={(event) => {
        if (event.key === 'Escape' && mustAnswer) event.preventDefault();
      }}
      onCancel={(event) => {
        event.preventDefault();
        if (!mustAnswer) onClose();
      }}
    >
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** The row of buttons at the end of a dialog. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="dialog-actions">{children}</div>;
}

/** A dialog for what is shown only once. Escape does not close it, because the person must confirm a copy. */
export function ShownOnceDialog({
  title,
  notice = 'Copy it now: it is shown this once and can never be seen again.',
  isWide = false,
  onClose,
  children,
}: {
  title: string;
  notice?: string;
  isWide?: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog title={title} onClose={onClose} mustAnswer isWide={isWide}>
      <Notice tone="warn">{notice}</Notice>
      {children}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          I have copied it
        </Button>
      </DialogActions>
    </Dialog>
  );
}
