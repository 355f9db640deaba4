import { createHash } from 'node:crypto';
import type { Request, Response, Router } from 'express';
import type { DefaultLimits } from '../../domain/accounts/budgets.ts';
import type { Authenticator } from '../../domain/api-keys/authenticate.ts';
import type { SystemCaller } from '../../domain/caller.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Operations } from '../../domain/operations.ts';
import type { OptOutPerson } from '../../domain/ports/opt-out-tokens.ts';
import type { RateLimiter } from '../../domain/ports/rate-limiter.ts';
import type { Clock } from '../../domain/ports/system.ts';
import type { SecurityWatch } from '../../domain/security/security-watch.ts';
import { type CallbackOptions, createCallbackRouter } from '../callbacks/callback-router.ts';
import { errorResponse } from '../error-response.ts';
import { Admission } from '../middleware/admission.ts';
import { readBody } from '../middleware/body.ts';

const RECIPIENT: SystemCaller = { kind: 'system', name: 'recipient' };
/** The form and mail programs (RFC 8058) send a few words. */
const MAX_BODY_BYTES = 4_096;
const STYLE = `body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:10vh auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1{font-size:1.4rem}button{font:inherit;padding:.6rem 1.2rem;border:0;border-radius:.4rem;background:#1a1a1a;color:#fff}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}button{background:#eee;color:#161616}}`;
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};

/** A text is HTML. */
interface Page {
  readonly title: string;
  readonly content: string;
}

const UNKNOWN: Page = {
  title: 'This link does not work',
  content: '<p>Open the link exactly as it is in the message.</p>',
};
const LATER: Page = {
  title: 'This does not work right now',
  content: '<p>Open the link again in a minute.</p>',
};

/**
 * Serves the page behind the link in marketing messages (R441), mounted at `/o`. It works without JavaScript. A GET
 * asks, and changes nothing, because programs that check messages open links. A POST stops the messages: it comes from
 * the button, or from a mail program after one click (RFC 8058). The link alone gives the right to it: it cannot be
 * guessed, and no cookie is read, so that another site cannot act for the person. Requests with unknown links count
 * against the request budget of their IP address.
 */
export function createOptOutRouter(
  options: CallbackOptions & {
    readonly operations: Operations;
    readonly authenticator: Authenticator;
    readonly rateLimiter: RateLimiter;
    readonly rateLimits: DefaultLimits;
    readonly security: SecurityWatch;
    readonly clock: Clock;
  },
): Router {
  const { find, take } = options.operations.optOut;
  const { router, serve } = createCallbackRouter(options, 'recipient');
  const admission = new Admission(options);
  /** Returns the person of the link. An unknown link counts. */
  const personOf = async (operation: typeof find, request: Request): Promise<OptOutPerson> => {
    try {
      return await operation.run(RECIPIENT, { token: String(request.params.token) });
    } catch (error) {
      if (error instanceof DomainError && error.code === 'not_found') {
        await admission.countByAddress(request, {});
      }
      throw error;
    }
  };
  const page = (operation: typeof find, write: (person: OptOutPerson) => Page) =>
    serve(async (request, response) => {
      try {
        await readBody(request, MAX_BODY_BYTES);
        send(response, 200, write(await personOf(operation, request)));
      } catch (error) {
        const refused = error instanceof DomainError ? error : options.faultOf(error);
        if (!refused) throw error;
        options.refusals.note(refused);
        const { status, headers } = errorResponse(refused);
        response.set(headers);
        send(response, status, refused.code === 'not_found' ? UNKNOWN : LATER);
      }
    });
  router.get(
    '/:token',
    page(find, (person) => ({
      title: 'Stop offers from this sender?',
      content: `<p>You get no more offers by ${byOf(person)} from the sender of the message to ${masked(person)}. Messages that you need, such as receipts and codes, still come.</p>
<form method="post"><button>Stop offers</button></form>`,
    })),
  );
  router.post(
    '/:token',
    page(take, (person) => ({
      title: 'Done',
      content: `<p>You get no more offers by ${byOf(person)} from the sender of the message to ${masked(person)}.</p>`,
    })),
  );
  return router;
}

const byOf = ({ channel }: OptOutPerson) => (channel === 'sms' ? 'SMS' : 'email');

/** Returns the address with most of it hidden, safe for HTML: the link may have been passed on. */
function masked({ channel, address }: OptOutPerson): string {
  const [shown, rest] =
    channel === 'email' ? [1, address.slice(address.lastIndexOf('@'))] : [4, address.slice(-3)];
  return `${address.slice(0, shown)}•••${rest}`.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function send(response: Response, status: number, { title, content }: Page): void {
  response
    .status(status)
    .set(HEADERS)
    .type('html')
    .send(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body><main><h1>${title}</h1>${content}</main></body>
</html>
`);
}
