import { AsyncLocalStorage } from 'node:async_hooks';

/** The request that this process is handling. */
export interface PresentRequest {
  readonly requestId: string;
  /** The request's header `traceparent`, as it was sent. */
  readonly traceparent: string | undefined;
  readonly arrivedAt: Date;
}

const requests = new AsyncLocalStorage<PresentRequest>();

/** Runs `work`, and all that it awaits, as a part of the request. */
export function withinRequest(request: PresentRequest, work: () => void): void {
  requests.run(request, work);
}

export function presentRequest(): PresentRequest | undefined {
  return requests.getStore();
}
