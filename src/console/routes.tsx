import { type ComponentType, useEffect, useState } from 'react';
import { t, withWords } from './lib/words.ts';
import { Loading } from './ui/states.tsx';

/** The groups of the navigation menu. */
const GROUPS = {
  Messaging: t('Messaging'),
  Developers: t('Developers'),
  Billing: t('Billing'),
  Settings: t('Settings'),
  Platform: t('Platform'),
} as const;
type Group = keyof typeof GROUPS;

/** Pages of the menu that the gateway serves outside of the console. */
export const OUTSIDE = [
  { path: '/graphql', title: t('Explorer'), group: GROUPS.Developers, isOutside: true },
  { path: '/docs', title: t('Docs'), group: GROUPS.Developers, isOutside: true },
] as const;
type Load = () => Promise<{ default: ComponentType }>;

export interface PageRoute {
  readonly path: string;
  /** Title of the browser tab. */
  readonly title: string;
  /** Group in the navigation menu. A page about a single item has none: it is not in the menu. */
  readonly group?: string;
  /** The page is open to people who may run this operation. */
  readonly permission: string;
  /** True if the page is only for operators. */
  readonly isForOperators?: boolean;
  readonly Page: ComponentType;
  /** Loads the code of the page before it is shown. */
  readonly preload: () => Promise<unknown>;
}

const page = (path: string, title: string, permission: string, load: Load, group?: Group): PageRoute => ({
  path,
  title,
  permission,
  ...whenLoaded(load),
  ...(group ? { group: GROUPS[group] } : {}),
});

/**
 * Returns a page whose code is loaded when it is shown, or by `preload`. React's `lazy` is not used: it shows its
 * fallback for at least 300 ms, also if the code is there after 20.
 */
function whenLoaded(load: Load): Pick<PageRoute, 'Page' | 'preload'> {
  let Loaded: ComponentType | undefined;
  const preload = async () => {
    Loaded ??= (await withWords(load)).default;
  };
  function Page() {
    const [state, setState] = useState<{ readonly isLoaded: boolean; readonly error?: unknown }>({
      isLoaded: Loaded !== undefined,
    });
    useEffect(() => {
      preload().then(
        () => setState({ isLoaded: true }),
        (error: unknown) => setState({ isLoaded: false, error }),
      );
    }, []);
    // The boundary around the page shows it.
    if ('error' in state) throw state.error;
    return state.isLoaded && Loaded ? <Loaded /> : <Loading />;
  }
  return { Page, preload };
}

const operatorPage = (...of: Parameters<typeof page>): PageRoute => ({
  ...page(...of),
  isForOperators: true,
});

/** Every page that needs a session, in the order of the navigation menu. */
export const ROUTES: readonly PageRoute[] = [
  page('/', t('Overview'), 'member.viewer', () => import('./pages/overview/overview.tsx'), 'Messaging'),
  page(
    '/start',
    t('First steps'),
    'webhook.register',
    () => import('./pages/first-run/first-run.tsx'),
    'Messaging',
  ),
  page('/messages', t('Messages'), 'message.list', () => import('./pages/messages/list.tsx'), 'Messaging'),
  page('/messages/send', t('Send a message'), 'message.sendSms', () => import('./pages/messages/send.tsx')),
  page('/messages/:id', t('Message'), 'message.find', () => import('./pages/messages/detail.tsx')),
  page('/contacts', t('Contacts'), 'contact.slice', () => import('./pages/contacts/list.tsx'), 'Messaging'),
  page('/contacts/new', t('New contact'), 'contact.create', () => import('./pages/contacts/create.tsx')),
  page(
    '/contacts/import',
    t('Import contacts'),
    'contact.import',
    () => import('./pages/contacts/import.tsx'),
  ),
  page(
    '/contacts/imports',
    t('Imports'),
    'contact.listImports',
    () => import('./pages/contacts/imports.tsx'),
  ),
  page(
    '/contacts/imports/:id',
    t('Import'),
    'contact.findImport',
    () => import('./pages/contacts/import-detail.tsx'),
  ),
  page('/contacts/:id', t('Contact'), 'contact.get', () => import('./pages/contacts/detail.tsx')),
  page(
    '/suppressions',
    t('Opt-outs'),
    'suppression.slice',
    () => import('./pages/suppressions/list.tsx'),
    'Messaging',
  ),
  page(
    '/suppressions/import',
    t('Import opt-outs'),
    'suppression.import',
    () => import('./pages/suppressions/import.tsx'),
  ),
  page(
    '/suppressions/person',
    t('Data of a person'),
    'recipient.erase',
    () => import('./pages/suppressions/person.tsx'),
  ),
  page('/devices', t('Devices'), 'device.slice', () => import('./pages/devices/list.tsx'), 'Messaging'),
  page(
    '/devices/new',
    t('Register a device'),
    'device.register',
    () => import('./pages/devices/register.tsx'),
  ),
  page('/api-keys', t('API keys'), 'apiKey.list', () => import('./pages/api-keys/list.tsx'), 'Developers'),
  page('/api-keys/new', t('New API key'), 'apiKey.create', () => import('./pages/api-keys/create.tsx')),
  page('/api-keys/:keyId', t('API key'), 'apiKey.find', () => import('./pages/api-keys/detail.tsx')),
  operatorPage(
    '/key-limits',
    t('Key limits'),
    'apiKey.setRateLimit',
    () => import('./pages/api-keys/limits.tsx'),
    'Platform',
  ),
  page('/webhooks', t('Webhooks'), 'webhook.list', () => import('./pages/webhooks/list.tsx'), 'Developers'),
  page('/webhooks/new', t('New webhook'), 'webhook.register', () => import('./pages/webhooks/create.tsx')),
  page(
    '/webhooks/deliveries/:deliveryId',
    t('Delivery'),
    'delivery.find',
    () => import('./pages/webhooks/delivery.tsx'),
  ),
  page('/webhooks/:webhookId', t('Webhook'), 'webhook.get', () => import('./pages/webhooks/detail.tsx')),
  page('/events', t('Events'), 'delivery.list', () => import('./pages/events/list.tsx'), 'Developers'),
  page('/requests', t('Requests'), 'request.list', () => import('./pages/requests/list.tsx'), 'Developers'),
  page('/members/invite', t('Invite a person'), 'member.invite', () => import('./pages/members/invite.tsx')),
  page('/usage', t('Usage'), 'analytics.query', () => import('./pages/usage/usage.tsx'), 'Billing'),
  page('/statement', t('Statement'), 'account.statement', () => import('./pages/statement/statement.tsx')),
  page('/ledger', t('Ledger'), 'account.ledger', () => import('./pages/ledger/ledger.tsx'), 'Billing'),
  operatorPage(
    '/accounts',
    t('Accounts'),
    'account.list',
    () => import('./pages/operator/accounts.tsx'),
    'Platform',
  ),
  operatorPage(
    '/accounts/new',
    t('New account'),
    'account.create',
    () => import('./pages/operator/create-account.tsx'),
  ),
  operatorPage('/accounts/:id', t('Account'), 'account.topUp', () => import('./pages/operator/account.tsx')),
  operatorPage(
    '/traffic',
    t('Traffic'),
    'platform.analytics',
    () => import('./pages/operator/traffic.tsx'),
    'Platform',
  ),
  operatorPage(
    '/look-up',
    t('Look up'),
    'platform.lookUp',
    () => import('./pages/operator/look-up.tsx'),
    'Platform',
  ),
  operatorPage(
    '/operators',
    t('Operators'),
    'operator.list',
    () => import('./pages/operators/operators.tsx'),
    'Platform',
  ),
  operatorPage('/plans', t('Plans'), 'plan.list', () => import('./pages/operator/plans.tsx'), 'Platform'),
  operatorPage(
    '/providers',
    t('Carriers'),
    'provider.health',
    () => import('./pages/operator/providers.tsx'),
    'Platform',
  ),
  page('/prices', t('Prices'), 'price.list', () => import('./pages/operator/prices.tsx'), 'Billing'),
  page('/alerts', t('Alerts'), 'alert.rules', () => import('./pages/alerts/alerts.tsx'), 'Settings'),
  page('/account', t('Account'), 'account.get', () => import('./pages/account/settings.tsx'), 'Settings'),
  page('/members', t('Members'), 'member.list', () => import('./pages/members/list.tsx'), 'Settings'),
  page('/senders', t('Senders'), 'sender.slice', () => import('./pages/senders/list.tsx'), 'Settings'),
  page('/senders/new', t('Request a sender'), 'sender.request', () => import('./pages/senders/request.tsx')),
  page('/senders/:id', t('Sender'), 'sender.get', () => import('./pages/senders/detail.tsx')),
  page('/audit', t('Audit log'), 'audit.list', () => import('./pages/audit/audit.tsx'), 'Settings'),
  page(
    '/security',
    t('Security'),
    'secondFactor.list',
    () => import('./pages/security/security.tsx'),
    'Settings',
  ),
  page(
    '/password',
    t('Change password'),
    'member.changePassword',
    () => import('./pages/account/password.tsx'),
  ),
];
