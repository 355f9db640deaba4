import type { Route } from '../define-route.ts';
import { accountRoutes } from './account.routes.ts';
import { contactRoutes } from './contacts.routes.ts';
import { emailRoutes } from './email.routes.ts';
import { eventRoutes } from './events.routes.ts';
import { keyRoutes } from './keys.routes.ts';
import { messageRoutes } from './messages.routes.ts';
import { pushRoutes } from './push.routes.ts';
import { webhookDeliveryRoutes } from './webhook-deliveries.routes.ts';
import { webhookRoutes } from './webhooks.routes.ts';
import { whatsAppRoutes } from './whatsapp.routes.ts';

/** Every REST route, in the order of matching and of the document. */
export const routes: readonly Route[] = [
  ...messageRoutes,
  ...emailRoutes,
  ...pushRoutes,
  ...whatsAppRoutes,
  ...contactRoutes,
  ...accountRoutes,
  ...keyRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...eventRoutes,
];
