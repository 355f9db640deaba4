import express, { type Router } from 'express';
import { DomainError } from '../domain/errors.ts';
import type { WebhookHeaderNames } from '../domain/ports/webhook-transport.ts';
import { sendJson } from './answer.ts';
import { errorResponse } from './error-response.ts';
import { readBody } from './request-body.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_SHOWN = 100;

/**
 * A webhook receiver for those who have none yet, to be mounted where `isName` judges the rest of the path. It
 * answers every POST with what it has understood, keeps nothing and is not there in production.
 */
export function createWebhookSimulator(
  headerNames: WebhookHeaderNames,
  isName: (text: string) => boolean,
): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.post('/:name', async (request, response, next) => {
    if (!isName(request.params.name)) return next();
    response.setHeader('X-Content-Type-Options', 'nosniff');
    try {
      const body = await readBody(request, MAX_BODY_BYTES);
      const shown = (name: string) => request.get(name)?.slice(0, MAX_SHOWN) ?? null;
      const answer = {
        receiver: "The gateway's own webhook simulator: it checks no signature and keeps nothing.",
        event: shown(headerNames.event),
        deliveryId: shown(headerNames.delivery),
        hasSignature: request.get(headerNames.signature) !== undefined,
        bytes: body.length,
      };
      sendJson(request, response, 200, JSON.stringify(answer));
    } catch (error) {
      if (!(error instanceof DomainError)) return next(error);
      const { status, headers, body } = errorResponse(error);
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      sendJson(request, response, status, JSON.stringify(body));
    }
  });
  return router;
}
