import type { AccountEnvironment, Environment } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Device, deviceAddress } from '../devices/device.ts';
import { checkAll, DomainError, validationError } from '../errors.ts';
import type { DeviceStore } from '../ports/device-store.ts';
import { truncate } from '../text.ts';
import { isUuid } from '../uuid.ts';
import type { PricedMessage } from './message.ts';
import { checkPushContent, type PushContentInput, type PushPayload } from './push-content.ts';
import {
  checkSchedule,
  type SendContext,
  type SendRequest,
  sendOn,
  sendOperation,
  unitPriceOf,
} from './send-operation.ts';

/** Largest number of devices that one message goes to. */
export const PUSH_MAX_DEVICES = 1000;
/** Largest number of users and devices that one request names. */
const MAX_NAMED = 1000;
/**
 * The gateway tries to submit a push message for at least this time, in ms, even if the message's time to live is
 * shorter.
 */
const MIN_DELAY_MS = 60_000;

export interface PushRequest extends PushContentInput, SendRequest {
  /** User ids, as a list or as text with commas. */
  readonly to?: string | readonly string[] | undefined;
  readonly deviceIds?: readonly string[] | undefined;
  readonly scheduledFor?: string | undefined;
}

/** The operation that sends push messages. */
export function pushOperations({ stores }: Pick<Dependencies, 'stores'>, context: SendContext) {
  return {
    /** Sends a push message. `POST /developers/push` calls it (R24). */
    sendPush: sendOperation(
      'message.sendPush',
      'push',
      sendOn<PushRequest>(context, 'push', (request, { accountId }, environment) =>
        pricePush(context, stores.devices, request, { accountId, environment }),
      ),
    ),
  };
}

/**
 * Checks everything about a push message that does not depend on its route or the balance, and returns its price (R24).
 * Skips devices whose platform has no provider if another device remains. Throws `validation_error`,
 * `no_target_devices`, `invalid_scheduled_time` and `unpriced_destination`.
 */
async function pricePush(
  context: SendContext,
  devices: Pick<DeviceStore, 'targets'>,
  request: PushRequest,
  owner: AccountEnvironment,
): Promise<PricedMessage> {
  const { content, scheduledFor, named } = checkAll({
    content: () => checkPushContent(request),
    scheduledFor: () => checkSchedule(request.scheduledFor, context.clock.now()),
    named: () => namedTargets(request),
  });
  const targets = await targetsOf(devices, owner, named);
  const { routable, skipped } = splitByRoute(context, owner.environment, targets);
  const price = await unitPriceOf(context, owner.accountId, 'push', '');
  const payload: PushPayload = { ...content, userIds: named.userIds, deviceIds: named.deviceIds };
  return {
    from: context.defaultSenderId,
    content: request.body,
    payload: { ...payload },
    recipients: routable.map((address) => ({ address, costMinor: price.unitPriceMinor })),
    ...price,
    skipped,
    duplicatesRemoved: named.duplicates,
    scheduledFor,
    maxDelayMs:
      request.ttlSeconds === undefined ? undefined : Math.max(MIN_DELAY_MS, request.ttlSeconds * 1000),
  };
}

/**
 * Splits the devices' addresses into those whose platform has a provider and the others. If no platform has a provider,
 * all count as routable. `prepareMessage` then refuses the message.
 */
function splitByRoute(
  { routing }: SendContext,
  environment: Environment,
  targets: readonly Device[],
): { readonly routable: readonly string[]; readonly skipped: readonly string[] } {
  const addresses = targets.map(deviceAddress);
  const hasRoute = (address: string) =>
    environment === 'sandbox' || routing.routeFor('push', address) !== undefined;
  const routable = addresses.filter(hasRoute);
  if (routable.length === 0) return { routable: addresses, skipped: [] };
  return { routable, skipped: addresses.filter((address) => !hasRoute(address)) };
}

interface NamedTargets {
  readonly userIds: readonly string[];
  readonly deviceIds: readonly string[];
  readonly duplicates: number;
}

function namedTargets({ to = [], deviceIds = [] }: PushRequest): NamedTargets {
  const named = (typeof to === 'string' ? to.split(',') : to)
    .map((id) => id.trim())
    .filter((id) => id !== '');
  const userIds = [...new Set(named)];
  const ids = [...new Set(deviceIds.map((id) => id.toLowerCase()))];
  if (userIds.length + ids.length > MAX_NAMED) {
    throw validationError([{ path: 'to', message: `at most ${MAX_NAMED} users and devices a request` }]);
  }
  return {
    userIds,
    deviceIds: ids,
    duplicates: named.length - userIds.length + deviceIds.length - ids.length,
  };
}

async function targetsOf(
  devices: Pick<DeviceStore, 'targets'>,
  owner: AccountEnvironment,
  { userIds, deviceIds }: NamedTargets,
): Promise<readonly Device[]> {
  const found = await devices.targets(owner, userIds, deviceIds.filter(isUuid), PUSH_MAX_DEVICES + 1);
  if (found.length === 0) {
    throw new DomainError(
      'no_target_devices',
      `No ${owner.environment} device is registered for these users or under these ids.`,
      { to: userIds.map(truncate), deviceIds: deviceIds.map(truncate) },
    );
  }
  if (found.length > PUSH_MAX_DEVICES) {
    const message = `these users have more than ${PUSH_MAX_DEVICES} devices together; send to fewer at once`;
    throw validationError([{ path: 'to', message }]);
  }
  return found;
}
