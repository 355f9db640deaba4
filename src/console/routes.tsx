import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

export type Group = 'Start' | 'Messaging' | 'Developers' | 'Account' | 'Platform';
type Load = () => Promise<{ default: ComponentType }>;

export interface PageRoute {
  readonly path: string;
  /** Its title in the tab of the browser. */
  readonly title: string;
  /** Where it stands in the navigation; pages of one thing stand nowhere. */
  readonly group?: Group;
  /** The operation that whoever opens it must be allowed to run. */
  readonly permission: string;
  readonly Page: LazyExoticComponent<ComponentType>;
}

const page = (path: string, title: string, permission: string, load: Load, group?: Group): PageRoute => ({
  path,
  title,
  permission,
  Page: lazy(load),
  ...(group ? { group } : {}),
});

/** Every page behind the sign-in, in the order of the navigation. */
export const ROUTES: readonly PageRoute[] = [
  page('/', 'Overview', 'member.viewer', () => import('./pages/overview/overview.tsx'), 'Start'),
  page('/start', 'First steps', 'webhook.register', () => import('./pages/first-run/first-run.tsx'), 'Start'),
  page('/messages', 'Messages', 'message.list', () => import('./pages/messages/list.tsx'), 'Messaging'),
  page('/messages/send', 'Send a message', 'message.sendSms', () => import('./pages/messages/send.tsx')),
  page('/messages/:id', 'Message', 'message.find', () => import('./pages/messages/detail.tsx')),
  page('/api-keys', 'API keys', 'apiKey.list', () => import('./pages/api-keys/list.tsx'), 'Developers'),
  page('/api-keys/new', 'New API key', 'apiKey.create', () => import('./pages/api-keys/create.tsx')),
  page('/api-keys/:keyId', 'API key', 'apiKey.find', () => import('./pages/api-keys/detail.tsx')),
  page(
    '/key-limits',
    'Key limits',
    'apiKey.setRateLimit',
    () => import('./pages/api-keys/limits.tsx'),
    'Platform',
  ),
  page('/webhooks', 'Webhooks', 'webhook.list', () => import('./pages/webhooks/list.tsx'), 'Developers'),
  page('/webhooks/new', 'New webhook', 'webhook.register', () => import('./pages/webhooks/create.tsx')),
  page(
    '/webhooks/deliveries/:deliveryId',
    'Delivery',
    'delivery.find',
    () => import('./pages/webhooks/delivery.tsx'),
  ),
  page('/webhooks/:webhookId', 'Webhook', 'webhook.get', () => import('./pages/webhooks/detail.tsx')),
  page('/password', 'Change password', 'member.changePassword', () => import('./pages/account/password.tsx')),
];
