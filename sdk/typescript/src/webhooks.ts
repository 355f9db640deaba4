import { WebhooksResource } from './resources.generated.ts';
import {
  type HeadersLike,
  type VerifiedEvent,
  type VerifyOptions,
  verifyWebhook,
} from './webhook-signature.ts';

/** The account's webhooks, and the verification of received events. */
export class Webhooks extends WebhooksResource {
  /** Same as the function `verifyWebhook`, which needs no `Gateway`. */
  verify(
    rawBody: string | Uint8Array | ArrayBuffer,
    headers: HeadersLike,
    secret: string | readonly string[],
    options?: VerifyOptions,
  ): Promise<VerifiedEvent> {
    return verifyWebhook(rawBody, headers, secret, options);
  }
}
