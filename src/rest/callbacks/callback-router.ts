import express, { type Request, type Response, type Router } from 'express';
import { DomainError } from '../../domain/errors.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { RefusalMonitor } from '../../domain/refusal-monitor.ts';
import { errorResponse } from '../error-response.ts';
import { requestIdOf } from '../middleware/request.ts';
import { sendJson } from '../middleware/send-json.ts';

export interface CallbackOptions {
  readonly logger: Logger;
  /**
   * Returns the refusal for an infrastructure fault, such as an unreachable database. Undefined for any other error.
   */
  readonly faultOf: (error: unknown) => DomainError | undefined;
  readonly refusals: Pick<RefusalMonitor, 'note'>;
}

type Work = (request: Request, response: Response) => Promise<void>;

/**
 * Makes a router for the calls of providers. Also returns `serve`, which wraps its handlers: it answers every error in
 * the form of the REST API. A provider sends a call again if the answer is not 200.
 */
export function createCallbackRouter(
  { logger, faultOf, refusals }: CallbackOptions,
  what: string,
): { router: Router; serve: (work: Work) => Work } {
  const serve = (work: Work) => async (request: Request, response: Response) => {
    const requestId = requestIdOf(request);
    response.setHeader('X-Request-Id', requestId);
    try {
      await work(request, response);
    } catch (error) {
      const refused = error instanceof DomainError ? error : faultOf(error);
      if (refused) refusals.note(refused);
      else logger.error({ err: error, requestId }, `a ${what} callback failed`);
      const { status, headers, body } = errorResponse(
        refused ??
          new DomainError('internal_error', `Something went wrong here. Quote request ${requestId}.`),
      );
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      sendJson(request, response, status, JSON.stringify(body));
    }
  };
  return { router: express.Router(), serve };
}
