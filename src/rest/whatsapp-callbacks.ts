import express, { type Request, type Response, type Router } from 'express';
import type { SystemCaller } from '../domain/caller.ts';
import { DomainError, forbidden, unauthorized } from '../domain/errors.ts';
import type { Operations } from '../domain/operations.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { WhatsAppCallbacks } from '../domain/ports/whatsapp-callbacks.ts';
import { sendJson } from './answer.ts';
import { errorResponse } from './error-response.ts';
import { readBody } from './request-body.ts';
import { requestIdOf } from './request-id.ts';

const MAX_BODY_BYTES = 3 * 1024 * 1024;
const PLATFORM: SystemCaller = { kind: 'system', name: 'whatsapp' };

/** The platform's calls (decision 25), to be mounted at `/callbacks/whatsapp`: no key, but a signature. */
export function createWhatsAppCallbackRouter(options: {
  readonly operations: Operations;
  readonly whatsAppCallbacks: WhatsAppCallbacks;
  readonly logger: Logger;
  readonly faultOf: (error: unknown) => DomainError | undefined;
}): Router {
  const { operations, whatsAppCallbacks } = options;
  const router = express.Router();
  const serve = (work: (request: Request, response: Response) => Promise<void>) => {
    return async (request: Request, response: Response) => {
      const requestId = requestIdOf(request);
      response.setHeader('X-Request-Id', requestId);
      try {
        await work(request, response);
      } catch (error) {
        const refused = error instanceof DomainError ? error : options.faultOf(error);
        if (!refused) options.logger.error({ err: error, requestId }, 'a WhatsApp callback failed');
        const { status, headers, body } = errorResponse(
          refused ??
            new DomainError('internal_error', `Something went wrong here. Quote request ${requestId}.`),
        );
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        sendJson(request, response, status, JSON.stringify(body));
      }
    };
  };

  router.get(
    '/',
    serve(async (request, response) => {
      const challenge = whatsAppCallbacks.challengeAnswer(request.query);
      if (challenge === undefined) throw forbidden('The handshake has no right hub.verify_token.');
      response.type('text/plain').setHeader('X-Content-Type-Options', 'nosniff').send(challenge);
    }),
  );
  router.post(
    '/',
    serve(async (request, response) => {
      const body = await readBody(request, MAX_BODY_BYTES);
      const callback = whatsAppCallbacks.read(body, request.get('x-hub-signature-256'));
      if (!callback) throw unauthorized('X-Hub-Signature-256 is missing or not right.');
      // A callback that is not answered with 200 is sent again, so the answer waits for the records.
      await operations.messages.takeWhatsAppCallback.run(PLATFORM, callback);
      sendJson(request, response, 200, '{}');
    }),
  );
  return router;
}
