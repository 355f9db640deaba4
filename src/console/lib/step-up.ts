import { useSyncExternalStore } from 'react';

/** The question that is open. Requests that need a confirmation meanwhile wait for the same answer. */
let open: PromiseWithResolvers<boolean> | undefined;
const listeners = new Set<() => void>();

function change(next: PromiseWithResolvers<boolean> | undefined): void {
  open = next;
  for (const listener of listeners) listener();
}

/** Asks the person to confirm who they are; resolves with whether they did. False where nothing can ask. */
export async function askStepUp(): Promise<boolean> {
  if (listeners.size === 0) return false;
  if (!open) change(Promise.withResolvers<boolean>());
  return (await open?.promise) ?? false;
}

export function answerStepUp(isConfirmed: boolean): void {
  open?.resolve(isConfirmed);
  change(undefined);
}

/** Whether the question is open. */
export function useStepUpAsked(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => open !== undefined,
  );
}
