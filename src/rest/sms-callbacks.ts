import type { Router } from 'express';
import type { Authenticator } from '../domain/api-keys/authenticate.ts';
import { DomainError, notFound, unauthorized } from '../domain/errors.ts';
import type { DeliveryReports } from '../domain/messages/delivery-reports.ts';
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
 * to be the carrier's counts on its address's budget, as a request without a key does (decision 11): beyond it, what it
 * says of messages that we know is taken, since it must have been told their ids, and nothing else.
 */
export function createSmsCallbackRouter(
  options: CallbackOptions & {
    readonly readSmsCallback: ReadSmsCallback;
    readonly takeReports: ReportSink;
    /** Takes what concerns messages that are known; how many reports do not. */
    readonly takeKnownReports: DeliveryReports['takeKnown'];
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
      if (reading.kind === 'refused') {
        await admission.admitAnyone(request, {});
        throw unauthorized('The signature or token of the callback is not right.');
      }
      const { provider, reports } = reading;
      const overBudget = reading.isProven ? undefined : await refusalOf(admission.admitAnyone(request, {}));
      if (!overBudget) await options.takeReports(provider, reports);
      else if ((await options.takeKnownReports(provider, reports)) > 0) throw overBudget;
      sendJson(request, response, 200, '{}');
    }),
  );
  return router;
}

async function refusalOf(work: Promise<void>): Promise<DomainError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'rate_limit_exceeded') return error;
    throw error;
  }
}
