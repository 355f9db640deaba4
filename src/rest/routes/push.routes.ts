import { z } from 'zod';
import { type Device, PLATFORMS } from '../../domain/devices/device.ts';
import {
  DEVICE_TOKEN_MAX_LENGTH,
  DEVICE_USER_ID_MAX_LENGTH,
} from '../../domain/devices/device-operations.ts';
import {
  COLLAPSE_KEY_MAX_BYTES,
  PUSH_MAX_BYTES,
  PUSH_TTL_MAX_SECONDS,
} from '../../domain/messages/push-content.ts';
import { PUSH_MAX_DEVICES } from '../../domain/messages/push-operations.ts';
import { defineRoute, type Route } from '../define-route.ts';
import {
  envelope,
  environment,
  environmentQuery,
  idParams,
  isoTime,
  pageQuery,
  paginated,
  textOrList,
} from '../schemas.ts';
import { historyRoute, idempotencyKey, messageMembers, purpose, sendRoute } from './channel-routes.ts';

const TAG = 'Push';

const pushMessage = z
  .object({
    ...messageMembers,
    to: z.array(z.string()).describe('The users, and then the device ids, that the request named.'),
    title: z.string(),
    metadata: z.object({
      devicesTargeted: z.int(),
      devicesReached: z.int().describe('Devices whose platform accepted the message.'),
      devicesFailed: z.int(),
      devicesRemoved: z.int().describe('Of the failed ones: unregistered, and therefore deleted.'),
      devicesSkipped: z.int().describe('Left out: this gateway has no provider for their platform.'),
      duplicatesRemoved: z.int().describe('Users and devices left out as duplicates.'),
    }),
  })
  .meta({ id: 'PushMessage' });

const pushToSend = z.object({
  to: textOrList
    .optional()
    .describe(
      `User ids, separated by commas or in a list: the message goes to all of their devices, ${PUSH_MAX_DEVICES} at most.`,
    ),
  deviceIds: z.array(z.string()).optional().describe('Single devices, instead of users or in addition.'),
  title: z.string(),
  body: z.string().describe(`With title, data and addresses ${PUSH_MAX_BYTES} bytes of JSON at most.`),
  data: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('For the app. Values other than text arrive as JSON text.'),
  imageUrl: z.string().optional(),
  clickUrl: z.string().optional().describe('What a click opens.'),
  collapseKey: z
    .string()
    .optional()
    .describe(
      `A message replaces an earlier one with the same key on the device; ${COLLAPSE_KEY_MAX_BYTES} bytes at most.`,
    ),
  ttlSeconds: z
    .int()
    .min(0)
    .max(PUSH_TTL_MAX_SECONDS)
    .optional()
    .describe('How long the platform keeps it for a device that is offline. Default: four weeks.'),
  priority: z.enum(['high', 'normal']).optional().describe('`high` when it is missing.'),
  scheduledFor: z
    .string()
    .optional()
    .describe('When to send: ISO 8601 with `Z` or an offset, at most 30 days ahead.'),
  purpose,
  idempotencyKey,
});

const device = z
  .object({
    id: z.string(),
    environment,
    token: z.string(),
    platform: z.enum(PLATFORMS),
    userId: z.string(),
    createdAt: isoTime,
    updatedAt: isoTime.describe('When the token was last registered.'),
  })
  .meta({ id: 'Device' });

function deviceResource({ id, environment, token, platform, userId, createdAt, updatedAt }: Device) {
  return {
    id,
    environment,
    token,
    platform,
    userId,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}

const EXAMPLE_DEVICE = {
  token: 'dGVzdC1kZXZpY2U:APA91bExampleTokenOfAnApp',
  platform: 'android' as const,
  userId: 'customer-4711',
};
/** The id of a new device, for each example. Another example may delete a shared device. */
const ofRegistered = {
  id: {
    route: 'POST /developers/push/devices',
    at: 'id',
    body: () => ({ ...EXAMPLE_DEVICE, token: `${EXAMPLE_DEVICE.token}2`, userId: 'customer-4712' }),
  },
};

export const pushRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/developers/push/devices',
    summary: 'Register a device; a token that is registered again updates its device',
    tag: TAG,
    operation: (operations) => operations.devices.register,
    successStatus: 201,
    body: z.object({
      token: z
        .string()
        .min(1)
        .max(DEVICE_TOKEN_MAX_LENGTH)
        .describe("The platform's registration token; on the web, the subscription's endpoint."),
      platform: z.enum(PLATFORMS),
      userId: z.string().max(DEVICE_USER_ID_MAX_LENGTH).describe('Your own id of the user of the device.'),
      keys: z
        .object({ p256dh: z.string(), auth: z.string() })
        .optional()
        .describe("The subscription's keys in base64url: for the web."),
    }),
    examples: { android: { summary: 'An app on Android', body: EXAMPLE_DEVICE } },
    response: device,
    async handle({ caller, operations, body }) {
      return { body: deviceResource(await operations.devices.register.run(caller, body)) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/push/devices',
    summary: 'Devices, the newest first',
    tag: TAG,
    operation: (operations) => operations.devices.list,
    query: pageQuery.extend({ environment: environmentQuery }),
    response: envelope(device),
    async handle({ caller, operations, query: { environment, ...page } }) {
      const found = await operations.devices.list.run(caller, { environment, page });
      return { body: paginated(found, page, deviceResource) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/push/devices/:id',
    summary: 'One device',
    tag: TAG,
    operation: (operations) => operations.devices.get,
    params: idParams,
    examples: { registered: { params: ofRegistered } },
    response: device,
    async handle({ caller, operations, params }) {
      return { body: deviceResource(await operations.devices.get.run(caller, params)) };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/developers/push/devices/:id',
    summary: 'Remove a device',
    tag: TAG,
    operation: (operations) => operations.devices.remove,
    params: idParams,
    examples: { registered: { params: ofRegistered } },
    response: z.object({ id: z.string(), deleted: z.literal(true) }),
    async handle({ caller, operations, params }) {
      await operations.devices.remove.run(caller, params);
      return { body: { id: params.id, deleted: true as const } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/push/web-key',
    summary: 'The key for subscriptions of browsers (`applicationServerKey`)',
    tag: TAG,
    operation: (operations) => operations.devices.webPushKey,
    response: z.object({ publicKey: z.string().describe('VAPID public key in base64url.') }),
    async handle({ caller, operations }) {
      return { body: { publicKey: await operations.devices.webPushKey.run(caller, {}) } };
    },
  }),
  sendRoute({
    channel: 'push',
    path: '/developers/push',
    summary: 'Send a push message',
    tag: TAG,
    operation: (operations) => operations.messages.sendPush,
    errors: [
      'no_target_devices',
      'invalid_scheduled_time',
      'unpriced_destination',
      'insufficient_balance',
      'spend_limit_reached',
    ],
    body: pushToSend,
    examples: {
      user: {
        summary: 'To all devices of a user',
        body: {
          to: 'customer-4711',
          title: 'Your order has left',
          body: 'It will be with you tomorrow.',
          data: { orderId: '4711-3' },
          collapseKey: 'order-4711-3',
          ttlSeconds: 86_400,
        },
      },
    },
    response: pushMessage,
  }),
  historyRoute('push', 'Push', TAG),
];
