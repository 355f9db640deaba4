import { useEffect, useRef } from 'react';
import type { Document } from './document.ts';
import { useLive } from './live.ts';
import { type AnyDocument, refetch } from './queries.ts';

/** Minimum time between an answer and the next run of the same query, in ms. A session has 600 requests per minute. */
const PAUSE_MS = 2_000;

/** Refetches `documents` each time the subscription reports a change, while the component is mounted. */
export function useLiveRefetch<Result, Variables extends Record<string, unknown>>(
  subscription: Document<Result, Variables>,
  variables: Variables,
  documents: readonly AnyDocument[],
): void {
  const changed = useChanged(documents);
  useLive(subscription, variables, documents, changed);
}

/** Returns a function that refetches `documents`. Calls during a refetch cause one more refetch after it. */
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
