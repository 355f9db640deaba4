import type { Router } from 'express';
import type { DefaultLimits } from '../../domain/accounts/budgets.ts';
import type { Authenticator } from '../../domain/api-keys/authenticate.ts';
import { DomainError, notFound, unauthorized } from '../../domain/errors.ts';
import { clientOf, shownClient } from '../../domain/ip-network.ts';
import type { InboundSink, KnownReportSink, ReportSink } from '../../domain/ports/provider.ts';
import type { RateLimiter } from '../../domain/ports/rate-limiter.ts';
import type { ReadSmsCallback } from '../../domain/ports/sms-callbacks.ts';
import type { Clock } from '../../domain/ports/system.ts';
import type { SecurityWatch } from '../../domain/security/security-watch.ts';
import { Admission } from '../middleware/admission.ts';
import { readBody } from '../middleware/body.ts';
import { sendJson } from '../middleware/send-json.ts';
import { type CallbackOptions, createCallbackRouter } from './callback-router.ts';

const MAX_BODY_BYTES = 64 * 1024;

/**
 * Receives delivery reports of carriers over HTTP (R15), mounted at `/callbacks/sms`. If nothing proves who sent a
 * call, it counts against the request budget of its IP address, like a request without a key (R11). Its reports on
 * known messages are still applied, because such a report must name an id that the carrier gave. Its reports on unknown
 * messages are not stored. Texts from subscribers (R380) come the same way, and only count with proof.
 */
export function createSmsCallbackRouter(
  options: CallbackOptions & {
    readonly readSmsCallback: ReadSmsCallback;
    readonly takeReports: ReportSink;
    readonly takeInbound: InboundSink;
    /** Applies the reports on known messages. Resolves with the number of reports on unknown messages. */
    readonly takeKnownReports: KnownReportSink;
    readonly authenticator: Authenticator;
    readonly rateLimiter: RateLimiter;
    readonly rateLimits: DefaultLimits;
    readonly security: SecurityWatch;
    readonly clock: Clock;
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
        await admission.countByAddress(request, {});
        throw unauthorized('The signature or token of the callback is wrong.');
      }
      const { provider, reports, inbound, inboundAnswer } = reading;
      if (reading.isProven) await options.takeReports(provider, reports);
      else {
        const overBudget = await refusalOf(admission.countByAddress(request, {}));
        const unknown = await options.takeKnownReports(provider, reports);
        if (overBudget && unknown > 0) throw overBudget;
      }
      // A carrier may send a text again if the answer is not 200. So answer only after it has taken effect.
      if (inbound) await options.takeInbound(provider, inbound);
      if (inbound && inboundAnswer) response.type(inboundAnswer.contentType).send(inboundAnswer.body);
      else sendJson(request, response, 200, '{}');
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
