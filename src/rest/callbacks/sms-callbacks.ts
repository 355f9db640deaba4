import type { Router } from 'express';
import type { DefaultLimits } from '../../domain/accounts/budgets.ts';
import type { Authenticator } from '../../domain/api-keys/authenticate.ts';
import { DomainError, notFound, unauthorized } from '../../domain/errors.ts';
import { clientOf, shownClient } from '../../domain/ip-network.ts';
import type { KnownReportSink, ReportSink } from '../../domain/ports/provider.ts';
import type { RateLimiter } from '../../domain/ports/rate-limiter.ts';
import type { ReadSmsCallback } from '../../domain/ports/sms-callbacks.ts';
import type { SecurityWatch } from '../../domain/security/security-watch.ts';
import { Admission } from '../middleware/admission.ts';
import { readBody } from '../middleware/body.ts';
import { sendJson } from '../middleware/send-json.ts';
import { type CallbackOptions, createCallbackRouter } from './callback-router.ts';

const MAX_BODY_BYTES = 64 * 1024;

/**
 * Carriers' calls about what became of messages (R15), to be mounted at `/callbacks/sms`. One that nothing proves
 * to be the carrier's counts on its address's budget, as a request without a key does (R11). What it says of
 * messages that were sent is taken, since it must have been told their ids; nothing is kept for one that was not.
 */
export function createSmsCallbackRouter(
  options: CallbackOptions & {
    readonly readSmsCallback: ReadSmsCallback;
    readonly takeReports: ReportSink;
    /** Takes what concerns messages that are known; how many reports do not. */
    readonly takeKnownReports: KnownReportSink;
    readonly authenticator: Authenticator;
    readonly rateLimiter: RateLimiter;
    readonly rateLimits: DefaultLimits;
    readonly security: SecurityWatch;
  },
): Router {
  const { router, serve } = createCallbackRouter(options, 'carrier');
  const admission = new Admission(options);
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
        const reason = `${request.params.carrier}: wrong signature or token`;
        options.security.recordRefusal({
          kind: 'callback',
          reason,
          address: shownClient(clientOf(request.ip)),
        });
        await admission.admitAnyone(request, {});
        throw unauthorized('The signature or token of the callback is not right.');
      }
      const { provider, reports } = reading;
      if (reading.isProven) await options.takeReports(provider, reports);
      else {
        const overBudget = await refusalOf(admission.admitAnyone(request, {}));
        const unknown = await options.takeKnownReports(provider, reports);
        if (overBudget && unknown > 0) throw overBudget;
      }
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
