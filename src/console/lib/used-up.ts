import { useSyncExternalStore } from 'react';

let message: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const onOver = new Set<() => void>();

function set(next: string | undefined): void {
  message = next;
  for (const listener of listeners) listener();
}

/** Records that the session has no requests left in this minute. The banner shows `why` for `seconds`. */
export function budgetUsedUp(why: string, seconds: number): void {
  clearTimeout(timer);
  set(why);
  timer = setTimeout(() => {
    set(undefined);
    for (const over of onOver) over();
  }, seconds * 1_000);
}

/** Calls `over` each time requests are allowed again. */
export function whenRequestsPass(over: () => void): void {
  onOver.add(over);
}

/** Returns the reason why requests are refused now, or undefined while they are allowed. */
export function useBudgetUsedUp(): string | undefined {
  return useSyncExternalStore(subscribe, () => message);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
