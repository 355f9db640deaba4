import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

export type Group = 'Messaging' | 'Developers' | 'Billing' | 'Settings' | 'Platform';
type Load = () => Promise<{ default: ComponentType }>;

export interface PageRoute {
  readonly path: string;
  /** Title of the browser tab. */
  readonly title: string;
  /** Group in the navigation menu. A page about a single item has none: it is not in the menu. */
  readonly group?: Group;
  /** The page is open to people who may run this operation. */
  readonly permission: string;
  /** True if the page is only for operators. */
  readonly isForOperators?: boolean;
  readonly Page: LazyExoticComponent<ComponentType>;
}

const page = (path: string, title: string, permission: string, load: Load, group?: Group): PageRoute => ({
  path,
  title,
  permission,
  Page: lazy(load),
  ...(group ? { group } : {}),
});

const operatorPage = (...of: Parameters<typeof page>): PageRoute => ({
  ...page(...of),
  isForOperators: true,
});

/** Every page that needs a session, in the order of the navigation menu. */
export const ROUTES: readonly PageRoute[] = [
  page('/', 'Overview', 'member.viewer', () => import('./pages/overview/overview.tsx'), 'Messaging'),
  page(
    '/start',
    'First steps',
    'webhook.register',
    () => import('./pages/first-run/first-run.tsx'),
    'Messaging',
  ),
  page('/messages', 'Messages', 'message.list', () => import('./pages/messages/list.tsx'), 'Messaging'),
  page('/messages/send', 'Send a message', 'message.sendSms', () => import('./pages/messages/send.tsx')),
  page('/messages/:id', 'Message', 'message.find', () => import('./pages/messages/detail.tsx')),
  page('/contacts', 'Contacts', 'contact.slice', () => import('./pages/contacts/list.tsx'), 'Messaging'),
  page('/contacts/new', 'New contact', 'contact.create', () => import('./pages/contacts/create.tsx')),
  page('/contacts/import', 'Import contacts', 'contact.import', () => import('./pages/contacts/import.tsx')),
  page('/contacts/imports', 'Imports', 'contact.listImports', () => import('./pages/contacts/imports.tsx')),
  page(
    '/contacts/imports/:id',
    'Import',
    'contact.findImport',
    () => import('./pages/contacts/import-detail.tsx'),
  ),
  page('/contacts/:id', 'Contact', 'contact.get', () => import('./pages/contacts/detail.tsx')),
  page(
    '/suppressions',
    'Opt-outs',
    'suppression.slice',
    () => import('./pages/suppressions/list.tsx'),
    'Messaging',
  ),
  page(
    '/suppressions/import',
    'Import opt-outs',
    'suppression.import',
    () => import('./pages/suppressions/import.tsx'),
  ),
  page('/devices', 'Devices', 'device.slice', () => import('./pages/devices/list.tsx'), 'Messaging'),
  page('/devices/new', 'Register a device', 'device.register', () => import('./pages/devices/register.tsx')),
  page('/api-keys', 'API keys', 'apiKey.list', () => import('./pages/api-keys/list.tsx'), 'Developers'),
  page('/api-keys/new', 'New API key', 'apiKey.create', () => import('./pages/api-keys/create.tsx')),
  page('/api-keys/:keyId', 'API key', 'apiKey.find', () => import('./pages/api-keys/detail.tsx')),
  operatorPage(
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
  page('/events', 'Events', 'delivery.list', () => import('./pages/events/list.tsx'), 'Developers'),
  page('/requests', 'Requests', 'request.list', () => import('./pages/requests/list.tsx'), 'Developers'),
  page('/members/invite', 'Invite a person', 'member.invite', () => import('./pages/members/invite.tsx')),
  page('/usage', 'Usage', 'analytics.query', () => import('./pages/usage/usage.tsx'), 'Billing'),
  page('/statement', 'Statement', 'account.statement', () => import('./pages/statement/statement.tsx')),
  page('/ledger', 'Ledger', 'account.ledger', () => import('./pages/ledger/ledger.tsx'), 'Billing'),
  operatorPage(
    '/accounts',
    'Accounts',
    'account.list',
    () => import('./pages/operator/accounts.tsx'),
    'Platform',
  ),
  operatorPage(
    '/accounts/new',
    'New account',
    'account.create',
    () => import('./pages/operator/create-account.tsx'),
  ),
  operatorPage('/accounts/:id', 'Account', 'account.topUp', () => import('./pages/operator/account.tsx')),
  operatorPage(
    '/operators',
    'Operators',
    'operator.list',
    () => import('./pages/operators/operators.tsx'),
    'Platform',
  ),
  operatorPage('/plans', 'Plans', 'plan.list', () => import('./pages/operator/plans.tsx'), 'Platform'),
  operatorPage(
    '/providers',
    'Carriers',
    'provider.health',
    () => import('./pages/operator/providers.tsx'),
    'Platform',
  ),
  page('/prices', 'Prices', 'price.list', () => import('./pages/operator/prices.tsx'), 'Billing'),
  page('/account', 'Account', 'account.get', () => import('./pages/account/settings.tsx'), 'Settings'),
  page('/members', 'Members', 'member.list', () => import('./pages/members/list.tsx'), 'Settings'),
  page('/senders', 'Senders', 'sender.slice', () => import('./pages/senders/list.tsx'), 'Settings'),
  page('/senders/new', 'Request a sender', 'sender.request', () => import('./pages/senders/request.tsx')),
  page('/senders/:id', 'Sender', 'sender.get', () => import('./pages/senders/detail.tsx')),
  page('/audit', 'Audit log', 'audit.list', () => import('./pages/audit/audit.tsx'), 'Settings'),
  page(
    '/security',
    'Security',
    'secondFactor.list',
    () => import('./pages/security/security.tsx'),
    'Settings',
  ),
  page('/password', 'Change password', 'member.changePassword', () => import('./pages/account/password.tsx')),
];
