import { useSyncExternalStore } from 'react';

/** The confirmation that the console waits for. Several requests can wait for the same answer. */
let open: PromiseWithResolvers<boolean> | undefined;
const listeners = new Set<() => void>();

function change(next: PromiseWithResolvers<boolean> | undefined): void {
  open = next;
  for (const listener of listeners) listener();
}

/**
 * Asks the person to confirm their identity. Resolves to true if they did, and to false at once if no dialog is
 * mounted.
 */
export async function askStepUp(): Promise<boolean> {
  if (listeners.size === 0) return false;
  if (!open) change(Promise.withResolvers<boolean>());
  return (await open?.promise) ?? false;
}

export function answerStepUp(isConfirmed: boolean): void {
  open?.resolve(isConfirmed);
  change(undefined);
}

/** Returns true while the console asks for a confirmation of the identity. */
export function useStepUpAsked(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => open !== undefined,
  );
}
