import type { Route } from '../define-route.ts';
import { accountRoutes } from './account.routes.ts';
import { alertRoutes } from './alerts.routes.ts';
import { contactRoutes } from './contacts.routes.ts';
import { emailRoutes } from './email.routes.ts';
import { eventRoutes } from './events.routes.ts';
import { heldRoutes } from './held.routes.ts';
import { keyRoutes } from './keys.routes.ts';
import { messageRoutes } from './messages.routes.ts';
import { pushRoutes } from './push.routes.ts';
import { recipientRoutes } from './recipients.routes.ts';
import { senderRoutes } from './senders.routes.ts';
import { suppressionRoutes } from './suppressions.routes.ts';
import { webhookDeliveryRoutes } from './webhook-deliveries.routes.ts';
import { webhookRoutes } from './webhooks.routes.ts';
import { whatsAppRoutes } from './whatsapp.routes.ts';

/** All REST routes. Requests are matched in this order, and the OpenAPI document lists them in this order. */
export const routes: readonly Route[] = [
  ...messageRoutes,
  ...emailRoutes,
  ...pushRoutes,
  ...whatsAppRoutes,
  ...contactRoutes,
  ...suppressionRoutes,
  ...recipientRoutes,
  ...senderRoutes,
  ...accountRoutes,
  ...keyRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...eventRoutes,
  ...alertRoutes,
  ...heldRoutes,
];
