import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The reads of one request. While `isReading` is true, they use a connection pool of their own. When `signal` aborts
 * they are cancelled, because nobody waits for them any more. A request that may change something never sets
 * `isReading`.
 */
export class ReadScope {
  readonly signal: AbortSignal;
  isReading: boolean;
  /** True for a subscription, whose reads follow changes and go on for as long as it is open. */
  readonly isSubscription: boolean;
  /** True if only a replica may serve the reads, because the caller was recognised without the primary (R520). */
  withoutPrimary = false;
  /** True after a replica has served a read without the primary: the answer may lack the newest changes. */
  isStale = false;

  constructor(signal: AbortSignal, { isSubscription = false } = {}) {
    this.signal = signal;
    this.isSubscription = isSubscription;
    this.isReading = isSubscription;
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

/** Returns the request whose reads run now, if it is a query that is answered once. */
export function presentQuery(): ReadScope | undefined {
  const scope = scopes.getStore();
  return scope?.isReading && !scope.isSubscription ? scope : undefined;
}
