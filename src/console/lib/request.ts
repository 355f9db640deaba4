import { ApiError, apiErrorOf, type GraphqlFault, UNREACHABLE } from './api-error.ts';
import { connectionLost, connectionWorks } from './connection.ts';
import type { Complete, Document, Query } from './document.ts';
import { type Asked, groupsOf, type Joined, joined, needSeparateCalls, partFor } from './joined.ts';
import { askStepUp } from './step-up.ts';
import { budgetUsedUp } from './used-up.ts';
import { t } from './words.ts';

let signedOut = () => {};

/** Sets the function that is called when the gateway says that the session has ended. */
export function whenSignedOut(handler: () => void): void {
  signedOut = handler;
}

type Values = Readonly<Record<string, unknown>>;

interface GraphqlAnswer {
  readonly data?: Values | null;
  readonly errors?: readonly GraphqlFault[];
  readonly extensions?: { readonly stale?: boolean };
}

/** A response of the gateway. */
interface Exchange {
  readonly status: number;
  readonly requestId: string | undefined;
  /** Undefined if the response is not JSON. */
  readonly answer: GraphqlAnswer | undefined;
}

interface Waiting extends Asked {
  readonly signal: AbortSignal | undefined;
  readonly answered: (exchange: Exchange) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Runs an operation with the session cookie. Throws `ApiError` if the response has an error. If the gateway asks for a
 * confirmation of the identity, it asks the person and runs the operation again. Queries that are asked in the same
 * moment travel in one call, so that a page begins with a single one. With `isApart`, a query has a call of its own,
 * because it takes longer than others should wait.
 */
export async function request<Result, Variables>(
  document: Document<Result, Variables> | Query<Result, Variables>,
  variables: Variables,
  { signal, isApart }: { readonly signal?: AbortSignal | undefined; readonly isApart?: boolean } = {},
): Promise<Complete<Result>> {
  const { status, requestId, answer } =
    'text' in document
      ? await send({ ...document, variables: variables as Values }, signal)
      : await new Promise<Exchange>((answered, failed) => {
          const asked = { query: document, variables: variables as Values, signal, answered, failed };
          if (isApart) void ask([asked]);
          else askTogether(asked);
        });
  const fault = answer?.errors?.[0];
  if (fault) {
    const error = apiErrorOf(fault, requestId);
    if (error.isLostConnection) connectionLost();
    else connectionWorks();
    if (error.code === 'UNAUTHENTICATED') signedOut();
    if (error.code === 'STEP_UP_REQUIRED') {
      if (await askStepUp()) return request(document, variables, { signal, isApart: isApart ?? false });
      throw new ApiError(error.code, t('It was not done, because you did not confirm that it is you.'));
    }
    // Status 429 means that the whole request was refused, so a banner says why. Otherwise only one field was refused,
    // and the page or form shows the error.
    if (status === 429) budgetUsedUp(error.message, error.retryAfterSeconds ?? 1);
    throw error;
  }
  if (!answer?.data) {
    // The response is not GraphQL, so it comes from a proxy and not from the gateway.
    connectionLost();
    throw new ApiError('SERVICE_UNAVAILABLE', t('The gateway answered with status {status}.', { status }));
  }
  // A replica has answered without the database that takes changes. Other requests are still refused.
  if (!answer.extensions?.stale) connectionWorks();
  return answer.data as Complete<Result>;
}

let waiting: Waiting[] = [];

/** Asks a query together with all others that are asked before the browser goes on with something else. */
function askTogether(asked: Waiting): void {
  if (waiting.length === 0) setTimeout(askWaiting);
  waiting.push(asked);
}

function askWaiting(): void {
  const wanted = waiting.filter(({ signal }) => !signal?.aborted);
  for (const each of waiting) if (each.signal?.aborted) each.failed(each.signal.reason);
  waiting = [];
  for (const group of groupsOf(wanted)) void ask(group);
}

/** Sends queries as one document, and gives each its part of the answer. */
async function ask(group: readonly Waiting[]): Promise<void> {
  try {
    const exchange = await send(joined(group), allAborted(group));
    if (group.length > 1 && needSeparateCalls(exchange.answer?.errors ?? []))
      for (const each of group) void ask([each]);
    else for (const each of group) each.answered(partOf(exchange, each));
  } catch (error) {
    for (const each of group) each.failed(error);
  }
}

/** Returns an answer with the fields and errors of one query, under their own names. An error without a path is of all. */
function partOf({ answer, ...rest }: Exchange, { query }: Waiting): Exchange {
  if (!answer) return { ...rest, answer };
  const errors = answer.errors?.filter(({ path }) => !path || String(path[0]).startsWith(`${query.name}_`));
  const { data, extensions } = answer;
  return {
    ...rest,
    answer: {
      ...(data ? { data: partFor(query, data) } : {}),
      ...(errors && errors.length > 0 ? { errors } : {}),
      ...(extensions ? { extensions } : {}),
    },
  };
}

/** Returns a signal that aborts when nobody waits for an answer any more. Undefined if somebody always will. */
function allAborted(group: readonly Waiting[]): AbortSignal | undefined {
  const signals = group.flatMap(({ signal }) => signal ?? []);
  if (signals.length < group.length) return undefined;
  const gone = new AbortController();
  const check = () => {
    if (signals.every(({ aborted }) => aborted)) gone.abort();
  };
  for (const signal of signals) signal.addEventListener('abort', check);
  return gone.signal;
}

async function send({ name, text, variables }: Joined, signal: AbortSignal | undefined): Promise<Exchange> {
  let response: Response;
  try {
    response = await fetch('/graphql', {
      method: 'POST',
      credentials: 'same-origin',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: text, variables, operationName: name }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    connectionLost();
    throw new ApiError(UNREACHABLE, t('The gateway cannot be reached. Check the connection.'));
  }
  return {
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    answer: await bodyOf(response),
  };
}

async function bodyOf(response: Response): Promise<GraphqlAnswer | undefined> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
