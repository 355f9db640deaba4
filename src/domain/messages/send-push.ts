import type { AccountCaller, AccountEnvironment, Environment } from '../caller.ts';
import { type Device, deviceAddress } from '../devices/device.ts';
import { DomainError, validationError } from '../errors.ts';
import type { DeviceStore } from '../ports/device-store.ts';
import { truncate } from '../text.ts';
import { isUuid } from '../uuid.ts';
import { acceptMessage, type SendAnswer, type SendContext } from './accept-message.ts';
import { checkSchedule } from './price-sms.ts';
import { checkPushContent, type PushContentInput, type PushPayload } from './push-content.ts';
import { unitPriceOf } from './unit-price.ts';

/** Devices that one message goes to at the most. */
export const PUSH_MAX_DEVICES = 1000;
/** Users and devices that a request names at the most. */
const MAX_NAMED = 1000;
/** What is to be shown at once or not at all still has this long to be handed over. */
const LEAST_USEFUL_MS = 60_000;

export interface PushInput extends PushContentInput {
  /** User ids, separated by commas or in a list. */
  readonly to?: string | readonly string[] | undefined;
  readonly deviceIds?: readonly string[] | undefined;
  readonly scheduledFor?: string | undefined;
  readonly environment: Environment;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Accepts a push message (R24). Throws `validation_error`, `no_target_devices`, `invalid_scheduled_time`,
 * and what `acceptMessage` throws. Devices of platforms that nobody carries are left out as long as others remain.
 */
export async function sendPush(
  context: SendContext,
  devices: Pick<DeviceStore, 'targets'>,
  caller: AccountCaller,
  input: PushInput,
): Promise<SendAnswer> {
  const content = checkPushContent(input);
  const scheduledFor = checkSchedule(input.scheduledFor, context.clock.now());
  const named = namedTargets(input);
  const owner = { accountId: caller.accountId, environment: input.environment };
  const targets = await targetsOf(devices, owner, named);
  const isCarried = (device: Device) =>
    input.environment === 'sandbox' || context.routing.routeFor('push', deviceAddress(device)) !== undefined;
  // With nobody left, the refusal names the channel.
  const carried = targets.some(isCarried) ? targets.filter(isCarried) : targets;
  const price = await unitPriceOf(context, caller.accountId, 'push', '');
  const payload: PushPayload = { ...content, userIds: named.userIds, deviceIds: named.deviceIds };
  return await acceptMessage(context, caller, {
    channel: 'push',
    environment: input.environment,
    from: context.defaultSenderId,
    content: input.body,
    payload: { ...payload },
    recipients: carried.map((device) => ({
      address: deviceAddress(device),
      costMinor: price.unitPriceMinor,
    })),
    ...price,
    invalidSkipped: targets.length - carried.length,
    duplicatesRemoved: named.duplicates,
    scheduledFor,
    usefulForMs:
      input.ttlSeconds === undefined ? undefined : Math.max(LEAST_USEFUL_MS, input.ttlSeconds * 1000),
    idempotencyKey: input.idempotencyKey,
  });
}

interface NamedTargets {
  readonly userIds: readonly string[];
  readonly deviceIds: readonly string[];
  readonly duplicates: number;
}

function namedTargets({ to = [], deviceIds = [] }: PushInput): NamedTargets {
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
      {
        to: userIds.map(truncate),
        deviceIds: deviceIds.map(truncate),
      },
    );
  }
  if (found.length > PUSH_MAX_DEVICES) {
    const message = `these users have more than ${PUSH_MAX_DEVICES} devices together; send to fewer at once`;
    throw validationError([{ path: 'to', message }]);
  }
  return found;
}
