import type { Router } from 'express';
import { notFound } from '../../domain/errors.ts';
import type { WebhookHeaderNames } from '../../domain/ports/webhook-transport.ts';
import { readBody } from '../middleware/body.ts';
import { sendJson } from '../middleware/send-json.ts';
import { type CallbackOptions, createCallbackRouter } from './callback-router.ts';

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_SHOWN = 100;

/**
 * A webhook receiver for developers who have none yet. It answers each POST with a summary of the request, and stores
 * nothing. `isName` checks the last part of the path. Not for production.
 */
export function createWebhookSimulator(
  options: CallbackOptions & { readonly webhookHeaders: WebhookHeaderNames },
  isName: (text: string) => boolean,
): Router {
  const { router, serve } = createCallbackRouter(options, 'simulated webhook');
  const { event, delivery, signature } = options.webhookHeaders;
  router.post(
    '/:name',
    serve(async (request, response) => {
      if (!isName(String(request.params.name))) throw notFound('Receiver');
      const body = await readBody(request, MAX_BODY_BYTES);
      const shown = (header: string) => request.get(header)?.slice(0, MAX_SHOWN) ?? null;
      const answer = {
        receiver: "The gateway's webhook simulator. It checks no signature and stores nothing.",
        event: shown(event),
        deliveryId: shown(delivery),
        hasSignature: request.get(signature) !== undefined,
        bytes: body.length,
      };
      sendJson(request, response, 200, JSON.stringify(answer));
    }),
  );
  return router;
}
