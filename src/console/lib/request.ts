import { ApiError, apiErrorOf, type GraphqlFault, UNREACHABLE } from './api-error.ts';
import { connectionLost, connectionWorks } from './connection.ts';
import type { Complete, Document } from './document.ts';
import { askStepUp } from './step-up.ts';
import { budgetUsedUp } from './used-up.ts';
import { t } from './words.ts';

let signedOut = () => {};

/** Sets the function that is called when the gateway says that the session has ended. */
export function whenSignedOut(handler: () => void): void {
  signedOut = handler;
}

interface GraphqlAnswer<Result> {
  readonly data?: Result | null;
  readonly errors?: readonly GraphqlFault[];
  readonly extensions?: { readonly stale?: boolean };
}

/**
 * Runs an operation with the session cookie. Throws `ApiError` if the response has an error. If the gateway asks for a
 * confirmation of the identity, it asks the person and runs the operation again.
 */
export async function request<Result, Variables>(
  document: Document<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Complete<Result>> {
  const response = await send(document, variables, signal);
  const answer = await bodyOf<Result>(response);
  const fault = answer?.errors?.[0];
  if (fault) {
    const error = apiErrorOf(fault, response.headers.get('x-request-id') ?? undefined);
    if (error.isLostConnection) connectionLost();
    else connectionWorks();
    if (error.code === 'UNAUTHENTICATED') signedOut();
    if (error.code === 'STEP_UP_REQUIRED') {
      if (await askStepUp()) return request(document, variables, signal);
      throw new ApiError(error.code, t('It was not done, because you did not confirm that it is you.'));
    }
    // Status 429 means that the whole request was refused, so a banner says why. Otherwise only one field was refused,
    // and the page or form shows the error.
    if (response.status === 429) budgetUsedUp(error.message, error.retryAfterSeconds ?? 1);
    throw error;
  }
  if (!answer?.data) {
    // The response is not GraphQL, so it comes from a proxy and not from the gateway.
    connectionLost();
    throw new ApiError(
      'SERVICE_UNAVAILABLE',
      t('The gateway answered with status {status}.', { status: response.status }),
    );
  }
  // A replica has answered without the database that takes changes. Other requests are still refused.
  if (!answer.extensions?.stale) connectionWorks();
  return answer.data as Complete<Result>;
}

async function send<Result, Variables>(
  { name, text }: Document<Result, Variables>,
  variables: Variables,
  signal: AbortSignal | undefined,
): Promise<Response> {
  try {
    return await fetch('/graphql', {
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
}

async function bodyOf<Result>(response: Response): Promise<GraphqlAnswer<Result> | undefined> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
