import { useSyncExternalStore } from 'react';

const FIRST_PROBE_MS = 1_000;
const LAST_PROBE_MS = 15_000;
/** A cheap GraphQL request that tests whether the gateway answers. */
const PROBE: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: '{"query":"{__typename}"}',
};

let isLost = false;
const listeners = new Set<() => void>();
const onRestored = new Set<() => void>();

function set(next: boolean): void {
  if (isLost === next) return;
  isLost = next;
  for (const listener of listeners) listener();
  if (!next) for (const restored of onRestored) restored();
}

/** Records that the gateway did not answer, and probes it until it answers. */
export function connectionLost(): void {
  if (isLost) return;
  set(true);
  probeAfter(FIRST_PROBE_MS);
}

/** Records that the gateway answered. */
export function connectionWorks(): void {
  set(false);
}

/** Calls `restored` each time the gateway answers again after an outage. Returns the function that unsubscribes. */
export function whenRestored(restored: () => void): () => void {
  onRestored.add(restored);
  return () => void onRestored.delete(restored);
}

/** Returns true while the gateway does not answer. */
export function useConnectionLost(): boolean {
  return useSyncExternalStore(subscribe, () => isLost);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** True if the gateway answers, and its database takes changes. */
async function answers(): Promise<boolean> {
  try {
    const response = await fetch('/graphql', PROBE);
    const { extensions } = (await response.json()) as { extensions?: { stale?: boolean } };
    return response.ok && !extensions?.stale;
  } catch {
    return false;
  }
}

function probeAfter(delayMs: number): void {
  setTimeout(async () => {
    if (!isLost) return;
    if (await answers()) connectionWorks();
    else probeAfter(Math.min(delayMs * 2, LAST_PROBE_MS));
  }, delayMs);
}
