import type { Router } from 'express';
import type { Authenticator } from '../domain/api-keys/authenticate.ts';
import { notFound, unauthorized } from '../domain/errors.ts';
import type { ReportSink } from '../domain/ports/provider.ts';
import type { RateLimiter } from '../domain/ports/rate-limiter.ts';
import type { ReadSmsCallback } from '../domain/ports/sms-callbacks.ts';
import { Admission, type DefaultLimits } from './admission.ts';
import { sendJson } from './answer.ts';
import { type CallbackOptions, createCallbackRouter } from './callback-router.ts';
import { readBody } from './request-body.ts';

const MAX_BODY_BYTES = 64 * 1024;

/**
 * Carriers' calls about what became of messages (decision 15), to be mounted at `/callbacks/sms`. One that nothing proves
 * to be the carrier's counts on its address's budget, as a request without a key does (decision 11).
 */
export function createSmsCallbackRouter(
  options: CallbackOptions & {
    readonly readSmsCallback: ReadSmsCallback;
    readonly takeReports: ReportSink;
    readonly authenticator: Authenticator;
    readonly rateLimiter: RateLimiter;
    readonly rateLimits: DefaultLimits;
  },
): Router {
  const { router, serve } = createCallbackRouter(options, 'carrier');
  const admission = new Admission(options.authenticator, options.rateLimiter, options.rateLimits);
  router.post(
    '/:carrier',
    serve(async (request, response) => {
      const body = await readBody(request, MAX_BODY_BYTES);
      const reading = options.readSmsCallback({
        carrier: String(request.params.carrier),
        target: request.originalUrl,
        form: new URLSearchParams(body.toString('utf8')),
        header: (name) => request.get(name),
      });
      if (reading.kind === 'unknown') throw notFound('Carrier');
      if (reading.kind === 'refused' || !reading.isProven) await admission.admitAnyone(request, {});
      if (reading.kind === 'refused')
        throw unauthorized('The signature or token of the callback is not right.');
      await options.takeReports(reading.provider, reading.reports);
      sendJson(request, response, 200, '{}');
    }),
  );
  return router;
}
