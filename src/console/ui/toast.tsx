import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import './toast.css';

const SHOWN_MS = 8_000;

interface Toast {
  readonly text: string;
  /** Reverts the action. If it rejects, the toast shows the error. */
  readonly undo?: () => Promise<unknown>;
}

const ToastContext = createContext<(toast: Toast) => void>(() => {});

/**
 * Returns a function that shows a short message about a finished action, with an undo button if `undo` is given. Screen
 * readers announce it. It disappears after some seconds, but not while the pointer or the focus is on it.
 */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext);
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly (Toast & { readonly id: string })[]>([]);
  const close = useCallback((id: string) => setToasts((shown) => shown.filter((each) => each.id !== id)), []);
  const show = useCallback(
    (toast: Toast) => {
      const id = `toast-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`;
      const closeUnlessRead = () => {
        const isRead = document.getElementById(id)?.matches(':hover, :focus-within');
        if (isRead) setTimeout(closeUnlessRead, SHOWN_MS);
        else close(id);
      };
      setToasts((shown) => [...shown, { ...toast, id }]);
      setTimeout(closeUnlessRead, SHOWN_MS);
    },
    [close],
  );
  return (
    <ToastContext value={show}>
      {children}
      <section className="toasts" aria-live="polite" aria-label={t('Notifications')}>
        {toasts.map(({ id, text, undo }) => (
          <div className="toast" key={id} id={id}>
            <span>{text}</span>
            <span className="row">
              {undo && (
                <Button
                  onClick={() => {
                    undo().catch(({ message }: Error) =>
                      show({ text: t('This was not undone: {message}', { message }) }),
                    );
                    close(id);
                  }}
                >
                  {t('Undo')}
                </Button>
              )}
              <Button look="quiet" aria-label={t('Dismiss')} onClick={() => close(id)}>
                ✕
              </Button>
            </span>
          </div>
        ))}
      </section>
    </ToastContext>
  );
}
