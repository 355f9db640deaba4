import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { t } from '../lib/words.ts';
import { Button, isRepeated } from './button.tsx';
import { Notice } from './notice.tsx';
import './dialog.css';

type DialogLook = 'plain' | 'wide' | 'drawer' | 'palette';

/**
 * A modal dialog. It focuses its first field, keeps the focus inside, and returns the focus when it closes. Escape
 * closes it unless `mustAnswer`.
 * It ignores the second click of a double click: the first click may have opened it, so nobody has read it yet.
 */
export function Dialog({
  title,
  onClose,
  mustAnswer = false,
  look = 'plain',
  children,
}: {
  title: string;
  onClose: () => void;
  /** True if Escape must not close it, for example because its content is shown only once. */
  mustAnswer?: boolean;
  /** `wide` is for content such as code, `drawer` for an object beside its list. */
  look?: DialogLook;
  children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Nothing is lost when one of these closes, so a click beside it closes it.
  const isLight = look === 'drawer' || look === 'palette';
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
      className={`dialog dialog-${look}`}
      aria-labelledby={id}
      onClick={(event) => {
        // A click on the backdrop has the dialog itself as its target.
        if (isLight && event.target === event.currentTarget) onClose();
      }}
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
      <div className={look === 'palette' ? undefined : 'stack'}>
        {look === 'drawer' ? (
          <div className="dialog-head">
            <h2 id={id}>{title}</h2>
            <button type="button" className="icon-button" aria-label={t('Close')} onClick={onClose}>
              <X className="icon" aria-hidden="true" />
            </button>
          </div>
        ) : (
          <h2 id={id} className={look === 'palette' ? 'visually-hidden' : undefined}>
            {title}
          </h2>
        )}
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
  notice = t('Copy it now: it is shown this once and can never be seen again.'),
  look = 'plain',
  onClose,
  children,
}: {
  title: string;
  notice?: string;
  look?: DialogLook;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog title={title} onClose={onClose} mustAnswer look={look}>
      <Notice tone="warn">{notice}</Notice>
      {children}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {t('I have copied it')}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
