import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The reads of one request. While `isReading` is true, they use a connection pool of their own. When `signal` aborts
 * they are cancelled, because nobody waits for them any more. A request that may change something never sets
 * `isReading`.
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

/** Runs `work` as a part of the request of `scope`, with everything that `work` awaits. */
export function withinReadScope<T>(scope: ReadScope, work: () => Promise<T>): Promise<T> {
  return scopes.run(scope, work);
}

/**
 * Runs `work` outside the scope of the present request, because `work` serves several requests. So the end of one
 * request does not cancel it.
 */
export function outsideReadScopes<T>(work: () => T): T {
  return scopes.run(undefined, work);
}

/** Returns the signal of the request whose reads run now. Undefined outside such a request. */
export function presentReader(): AbortSignal | undefined {
  const scope = scopes.getStore();
  return scope?.isReading ? scope.signal : undefined;
}
