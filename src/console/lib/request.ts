import { ApiError, apiErrorOf, type GraphqlFault, UNREACHABLE } from './api-error.ts';
import { connectionLost, connectionWorks } from './connection.ts';
import type { Complete, Document } from './document.ts';
import { askStepUp } from './step-up.ts';
import { budgetUsedUp } from './used-up.ts';

let signedOut = () => {};

/** Sets what happens when the session has ended. */
export function whenSignedOut(handler: () => void): void {
  signedOut = handler;
}

interface GraphqlAnswer<Result> {
  readonly data?: Result | null;
  readonly errors?: readonly GraphqlFault[];
}

/**
 * Runs an operation with the session cookie. Throws `ApiError` on any error of the answer. Where the gateway wants the
 * person to confirm who they are, asks them and runs it again.
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
      throw new ApiError(error.code, 'Nothing was changed, because you did not confirm that it is you.');
    }
    // The whole request was refused. A refusal inside an answer is shown where it was caused.
    if (response.status === 429) budgetUsedUp(error.message, error.retryAfterSeconds ?? 1);
    throw error;
  }
  if (!answer?.data) {
    // A proxy in between answered, not the gateway.
    connectionLost();
    throw new ApiError('SERVICE_UNAVAILABLE', `The gateway answered with status ${response.status}.`);
  }
  connectionWorks();
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
    throw new ApiError(UNREACHABLE, 'The gateway cannot be reached. Check the connection.');
  }
}

async function bodyOf<Result>(response: Response): Promise<GraphqlAnswer<Result> | undefined> {
  try {
    return await response.json();
  } catch {
    return undefined;
  }
}
