import { useSyncExternalStore } from 'react';

let message: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const onOver = new Set<() => void>();

function set(next: string | undefined): void {
  message = next;
  for (const listener of listeners) listener();
}

/** Reports that the session's requests of this minute are used up. `why` is shown for that many seconds. */
export function budgetUsedUp(why: string, seconds: number): void {
  clearTimeout(timer);
  set(why);
  timer = setTimeout(() => {
    set(undefined);
    for (const over of onOver) over();
  }, seconds * 1_000);
}

/** Calls back when requests are possible again. */
export function whenRequestsPass(over: () => void): void {
  onOver.add(over);
}

/** Why requests are refused now; undefined while they are not. */
export function useBudgetUsedUp(): string | undefined {
  return useSyncExternalStore(subscribe, () => message);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
