import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { ConfirmDialog, type Question } from './confirm-dialog.tsx';

/** A button for an irreversible action. It opens a `ConfirmDialog` first. */
export function ConfirmButton({ children, ...question }: Question & { readonly children: ReactNode }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button look="danger" onClick={() => setIsOpen(true)}>
        {children}
      </Button>
      {isOpen && <ConfirmDialog {...question} onClose={() => setIsOpen(false)} />}
    </>
  );
}
