import { createHash } from 'node:crypto';
import type { FormattedExecutionResult } from 'graphql';
import { createClient } from 'graphql-sse';
import type { Answer, TestGateway } from './gateway.ts';

export interface LiveEvent {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the event holds
  readonly data?: Record<string, any> | null;
  readonly errors?: FormattedExecutionResult['errors'];
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly extensions?: any;
}

export interface Subscription {
  /** The events received so far. */
  readonly events: readonly LiveEvent[];
  /** How the subscription ended: `complete` or the error. Undefined while it runs. */
  readonly end: unknown;
  stop(): void;
}

/** Returns the extensions of a request that also names its document by the hash. */
export function hashed(query: string) {
  const sha256Hash = createHash('sha256').update(query).digest('hex');
  return { persistedQuery: { version: 1, sha256Hash } };
}

/** Subscribes with the client of graphql-sse. Resolves when the gateway has answered. */
export async function subscribe(
  gateway: Pick<TestGateway, 'url'>,
  token: string | undefined,
  query: string,
  variables: Record<string, unknown> = {},
  extensions: Record<string, unknown> = {},
): Promise<Subscription> {
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const { promise: connected, resolve } = Promise.withResolvers<void>();
  const client = createClient({ url: `${gateway.url}/graphql/stream`, headers, retryAttempts: 0 });
  const events: LiveEvent[] = [];
  let end: unknown;
  const stop = client.subscribe(
    { query, variables, extensions },
    {
      next: (event) => void events.push(event as LiveEvent),
      error: (error) => {
        end = error ?? new Error('it ended with an error');
        resolve();
      },
      complete: () => {
        end ??= 'complete';
        resolve();
      },
    },
    { connected: () => resolve() },
  );
  await connected;
  return {
    events,
    get end() {
      return end;
    },
    stop,
  };
}

/** The header that names a reserved stream. */
export const STREAM_TOKEN = 'X-GraphQL-Event-Stream-Token';

/** Calls the routes of event streams that carry many operations (single connection mode). */
export function askSharedStream(
  gateway: Pick<TestGateway, 'url'>,
  token: string,
  method: string,
  { path = '', headers = {}, body }: { path?: string; headers?: Record<string, string>; body?: object } = {},
): Promise<Response> {
  return fetch(`${gateway.url}/graphql/stream${path}`, {
    method,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'Content-Type': 'application/json' } : {}),
      ...headers,
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

/** Opens a reserved stream, and collects the events that arrive on it. */
export async function openSharedStream(gateway: Pick<TestGateway, 'url'>, token: string, reserved: string) {
  const abort = new AbortController();
  const response = await fetch(`${gateway.url}/graphql/stream`, {
    headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream', [STREAM_TOKEN]: reserved },
    signal: abort.signal,
  });
  const seen = { text: '', hasEnded: false };
  const reading = (async () => {
    for await (const chunk of response.body ?? []) seen.text += Buffer.from(chunk).toString();
  })();
  reading
    .catch(() => undefined)
    .finally(() => {
      seen.hasEnded = true;
    });
  return { status: response.status, seen, stop: () => abort.abort() };
}

/**
 * Sends a subscription, and returns the first answer. It is a refusal, or has no data if the subscription was accepted.
 */
export async function askStream(
  gateway: Pick<TestGateway, 'url'>,
  query: string,
  options: {
    token?: string | undefined;
    variables?: object;
    extensions?: object;
    path?: string;
    headers?: object;
  } = {},
): Promise<Answer> {
  const abort = new AbortController();
  const response = await fetch(gateway.url + (options.path ?? '/graphql/stream'), {
    method: 'POST',
    headers: {
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
      ...(options.token === undefined ? {} : { Authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    body: JSON.stringify({ query, variables: options.variables, extensions: options.extensions }),
    signal: abort.signal,
  });
  const { status, headers } = response;
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes('\n\n')) break;
  }
  abort.abort();
  const json = text.startsWith('{') ? text : /^event: next\ndata: (.*)$/m.exec(text)?.[1];
  return { status, headers, body: JSON.parse(json ?? '{}'), text };
}

/** Returns the codes of an event's errors. */
export function eventCodes(event: LiveEvent | undefined): unknown[] {
  return (event?.errors ?? []).map((error) => error.extensions?.code);
}
