import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { Button } from './button.tsx';
import './toast.css';

const SHOWN_MS = 8_000;

interface Toast {
  readonly text: string;
  /** Takes back what was done. */
  readonly undo?: () => void;
}

const ToastContext = createContext<(toast: Toast) => void>(() => {});

/** Says in a corner, and to screen readers, what was done; for some seconds, with a way back where there is one. */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext);
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly (Toast & { readonly id: string })[]>([]);
  const show = useCallback((toast: Toast) => {
    const id = crypto.getRandomValues(new Uint32Array(2)).join('-');
    setToasts((shown) => [...shown, { ...toast, id }]);
    setTimeout(() => setToasts((shown) => shown.filter((each) => each.id !== id)), SHOWN_MS);
  }, []);
  const close = (id: string) => setToasts((shown) => shown.filter((each) => each.id !== id));
  return (
    <ToastContext value={show}>
      {children}
      <section className="toasts" aria-live="polite" aria-label="Notifications">
        {toasts.map(({ id, text, undo }) => (
          <div className="toast" key={id}>
            <span>{text}</span>
            <span className="row">
              {undo && (
                <Button
                  onClick={() => {
                    undo();
                    close(id);
                  }}
                >
                  Undo
                </Button>
              )}
              <Button look="quiet" aria-label="Dismiss" onClick={() => close(id)}>
                ✕
              </Button>
            </span>
          </div>
        ))}
      </section>
    </ToastContext>
  );
}
