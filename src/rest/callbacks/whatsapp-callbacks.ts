import type { Request, Router } from 'express';
import type { SystemCaller } from '../../domain/caller.ts';
import { forbidden, unauthorized } from '../../domain/errors.ts';
import { clientOf, shownClient } from '../../domain/ip-network.ts';
import type { Operations } from '../../domain/operations.ts';
import type { WhatsAppCallbacks } from '../../domain/ports/whatsapp.ts';
import type { SecurityWatch } from '../../domain/security/security-watch.ts';
import { readBody } from '../middleware/body.ts';
import { sendJson } from '../middleware/send-json.ts';
import { type CallbackOptions, createCallbackRouter } from './callback-router.ts';

const MAX_BODY_BYTES = 3 * 1024 * 1024;
const PLATFORM: SystemCaller = { kind: 'system', name: 'whatsapp' };

/**
 * Receives calls by WhatsApp (R25), mounted at `/callbacks/whatsapp`. These calls carry a signature instead of an API
 * key.
 */
export function createWhatsAppCallbackRouter(
  options: CallbackOptions & {
    readonly operations: Operations;
    readonly whatsAppCallbacks: WhatsAppCallbacks;
    readonly security: SecurityWatch;
  },
): Router {
  const { operations, whatsAppCallbacks, security } = options;
  const note = (request: Request, reason: string) =>
    security.recordRefusal({ kind: 'callback', reason, address: shownClient(clientOf(request.ip)) });
  const { router, serve } = createCallbackRouter(options, 'WhatsApp');
  router.get(
    '/',
    serve(async (request, response) => {
      const challenge = whatsAppCallbacks.challengeAnswer(request.query);
      if (challenge === undefined) {
        note(request, 'whatsapp: wrong verify token');
        throw forbidden('hub.verify_token is missing or wrong.');
      }
      response.type('text/plain').send(challenge);
    }),
  );
  router.post(
    '/',
    serve(async (request, response) => {
      const body = await readBody(request, MAX_BODY_BYTES);
      const callback = whatsAppCallbacks.read(body, request.get('x-hub-signature-256'));
      if (!callback) {
        note(request, 'whatsapp: wrong signature');
        throw unauthorized('X-Hub-Signature-256 is missing or wrong.');
      }
      // WhatsApp repeats a callback until the answer is 200. So answer only after the records are stored.
      await operations.messages.takeWhatsAppCallback.run(PLATFORM, callback);
      sendJson(request, response, 200, '{}');
    }),
  );
  return router;
}
