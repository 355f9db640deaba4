import { createClient } from 'graphql-sse';
import { useEffect, useEffectEvent } from 'react';
import { apiErrorOf, type GraphqlFault } from './api-error.ts';
import { connectionLost, connectionWorks } from './connection.ts';
import type { Complete, Document } from './document.ts';
import { type AnyDocument, askAgain, askAgainSoon, refetch } from './queries.ts';

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 30_000;
const COVERS_AFTER_MS = 1_000;

/**
 * Runs a GraphQL subscription while the component is mounted, and reconnects when the stream breaks.
 * A second after it first connects it refetches `covered`, which may have changed since they were answered; not at once,
 * because on a slow line that would delay the first answers. After a reconnect or
 * a `REFETCH` error, it refetches all queries on the page, because events were missed.
 * A hidden page closes its stream: a browser allows only six HTTP/1.1 connections to a host, over all tabs.
 */
export function useLive<Result, Variables extends Record<string, unknown>>(
  document: Document<Result, Variables>,
  variables: Variables,
  covered: readonly AnyDocument[],
  onData: (data: Complete<Result>) => void,
): void {
  const receive = useEffectEvent(onData);
  const refetchCovered = useEffectEvent(() => void refetch(...covered));
  const key = JSON.stringify(variables);
  useEffect(() => {
    let ending: AbortController | undefined;
    let isFirst = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const opened = () => {
      if (isFirst) timer = setTimeout(refetchCovered, COVERS_AFTER_MS);
      else void askAgain();
      isFirst = false;
    };
    const follow = () => {
      if (globalThis.document.hidden) {
        ending?.abort();
        ending = undefined;
      } else if (!ending) {
        ending = new AbortController();
        void listen(document, JSON.parse(key), { receive, opened }, ending.signal);
      }
    };
    follow();
    addEventListener('visibilitychange', follow);
    return () => {
      removeEventListener('visibilitychange', follow);
      ending?.abort();
      clearTimeout(timer);
    };
  }, [document, key]);
}

async function listen<Result, Variables extends Record<string, unknown>>(
  { name, text }: Document<Result, Variables>,
  variables: Variables,
  { receive, opened }: { receive: (data: Complete<Result>) => void; opened: () => void },
  signal: AbortSignal,
): Promise<void> {
  let waitMs = FIRST_WAIT_MS;
  const client = createClient({
    url: '/graphql/stream',
    retryAttempts: 0,
    credentials: 'same-origin',
    fetchFn: async (input: string, init: RequestInit) => {
      const response = await fetch(input, init).catch((error: unknown) => {
        if (!signal.aborted) connectionLost();
        throw error;
      });
      if (response.ok) {
        connectionWorks();
        opened();
        waitMs = FIRST_WAIT_MS;
      }
      return response;
    },
  });
  signal.addEventListener('abort', () => client.dispose());
  while (!signal.aborted) {
    try {
      const stream = client.iterate<Result>({ query: text, operationName: name, variables });
      for await (const event of stream) {
        if (signal.aborted) return;
        const fault = event.errors?.[0] as GraphqlFault | undefined;
        if (fault && apiErrorOf(fault).code === 'REFETCH') askAgainSoon();
        else if (event.data && !fault) receive(event.data as Complete<Result>);
      }
    } catch {
      // Ignored: the loop reconnects after any error.
    }
    await pause(waitMs * (0.75 + Math.random() / 2), signal);
    waitMs = Math.min(waitMs * 2, LAST_WAIT_MS);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
