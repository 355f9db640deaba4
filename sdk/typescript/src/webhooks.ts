import { WebhooksResource } from './resources.generated.ts';
import {
  type HeadersLike,
  type VerifiedEvent,
  type VerifyOptions,
  verifyWebhook,
} from './webhook-signature.ts';

/** The account's webhook endpoints, and the check that a receiver makes. */
export class Webhooks extends WebhooksResource {
  /** As `verifyWebhook`, which needs no `Gateway`. */
  verify(
    rawBody: string | Uint8Array | ArrayBuffer,
    headers: HeadersLike,
    secret: string | readonly string[],
    options?: VerifyOptions,
  ): Promise<VerifiedEvent> {
    return verifyWebhook(rawBody, headers, secret, options);
  }
}
