import { type ReactNode, useEffect, useId, useRef } from 'react';
import { isRepeated } from './button.tsx';
import './dialog.css';

/**
 * A modal dialog: focuses its first field, keeps the focus inside, returns it on close, and closes on Escape unless
 * `mustAnswer`. It ignores the second click of a double click: the first click may have opened it, and nobody has read
 * it yet.
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
  /** Escape does not close it, because its content is shown only once. */
  mustAnswer?: boolean;
  /** For code. */
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
      // The button may be gone, if it was in another dialog.
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
      // Without this, Chromium lets a second Escape close the dialog whatever `cancel` says.
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

/** The row of buttons in a dialog. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="dialog-actions">{children}</div>;
}
