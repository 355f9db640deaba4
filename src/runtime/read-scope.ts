import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The reads of one request. While `isReading`, they use connections of their own, and are cancelled when `signal`
 * aborts, because nobody waits for them any more. A request that may change something never sets it.
 */
export class ReadScope {
  readonly signal: AbortSignal;
  isReading: boolean;

  constructor(signal: AbortSignal, isReading = false) {
    this.signal = signal;
    this.isReading = isReading;
  }
}

const scopes = new AsyncLocalStorage<ReadScope | undefined>();

/** Runs `work`, and all that it awaits, as a part of the request of `scope`. */
export function withinReadScope<T>(scope: ReadScope, work: () => Promise<T>): Promise<T> {
  return scopes.run(scope, work);
}

/** Runs `work` for several requests, so that one that goes away does not cancel it. */
export function outsideReadScopes<T>(work: () => T): T {
  return scopes.run(undefined, work);
}

/** The signal of the request whose reads these are; undefined for anything else. */
export function presentReader(): AbortSignal | undefined {
  const scope = scopes.getStore();
  return scope?.isReading ? scope.signal : undefined;
}
