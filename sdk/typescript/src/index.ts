import type { CallOptions, GatewayOptions, SendOptions, TriedRequest } from './transport.ts';

export * from './errors.ts';
export { EventFeed, type FollowedEvent, type FollowOptions } from './event-feed.ts';
export { Gateway } from './gateway.ts';
export { type Page, type PageRequest, Pages } from './pages.ts';
export { Testing, testNumbers } from './sandbox.ts';
export * from './types.generated.ts';
export {
  type HeadersLike,
  signWebhook,
  type VerifiedEvent,
  type VerifyOptions,
  verifyWebhook,
  WebhookSignatureError,
} from './webhook-signature.ts';
export type { CallOptions, GatewayOptions, SendOptions, TriedRequest };
