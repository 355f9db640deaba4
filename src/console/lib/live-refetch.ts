import { useEffect, useRef } from 'react';
import type { Document } from './document.ts';
import { useLive } from './live.ts';
import { type AnyDocument, refetch } from './queries.ts';

/** However much changes, what is shown is asked for again this long after its last answer: a session has 600 requests a minute. */
const PAUSE_MS = 2_000;

/** Has the answers of `documents` asked for again, while the component is shown, when a subscription tells of changes. */
export function useLiveRefetch<Result, Variables extends Record<string, unknown>>(
  subscription: Document<Result, Variables>,
  variables: Variables,
  documents: readonly AnyDocument[],
): void {
  const changed = useChanged(documents);
  useLive(subscription, variables, changed);
}

/** Says that something changed, which asks again at once, and when it is said again meanwhile, once more after that. */
function useChanged(documents: readonly AnyDocument[]): () => void {
  const isDue = useRef(false);
  const isBusy = useRef(false);
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return async () => {
    isDue.current = true;
    if (isBusy.current) return;
    isBusy.current = true;
    while (isDue.current && isShown.current) {
      isDue.current = false;
      await refetch(...documents);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    isBusy.current = false;
  };
}
