import { deviceIdIn } from '../../devices/device.ts';
import { type PushSubmission, UNREGISTERED } from '../../ports/provider.ts';
import type { Message, OutgoingMessage, Recipient } from '../message.ts';
import { messageEvent } from '../message-events.ts';
import { pushPayload } from '../push-content.ts';
import type { ChannelRules } from './channel-rules.ts';

/** Largest number of failures that one event lists. */
const MAX_LISTED_FAILURES = 100;

/** Push (R24): one message goes to many devices and has a single event for the whole message. */
export const pushRules: ChannelRules = {
  hasNoReports: true,

  shownTo,

  resource(message) {
    const { title } = pushPayload(message);
    const { reached, failed, unregistered } = message.tally;
    return {
      title,
      metadata: {
        devicesTargeted: message.to.length,
        devicesReached: reached,
        devicesFailed: failed,
        devicesRemoved: unregistered,
        devicesSkipped: message.invalidSkipped,
        duplicatesRemoved: message.duplicatesRemoved,
      },
    };
  },

  async submission(message, recipient, attempt, directory): Promise<PushSubmission | undefined> {
    const payload = pushPayload(message);
    const device = await directory.device(deviceIdIn(recipient.address));
    // Check the target again, because a scheduled message waits: the device may belong to another user by now.
    const isTarget =
      device && (payload.userIds.includes(device.userId) || payload.deviceIds.includes(device.id));
    if (!isTarget) return undefined;
    return {
      messageId: message.id,
      position: recipient.position,
      to: recipient.address,
      from: message.from,
      attempt,
      expiresAt: message.expiresAt,
      target: {
        accountId: device.accountId,
        token: device.token,
        keys: device.keys,
        registeredAt: device.updatedAt,
      },
      title: payload.title,
      body: message.content,
      data: payload.data,
      imageUrl: payload.imageUrl ?? undefined,
      clickUrl: payload.clickUrl ?? undefined,
      collapseKey: payload.collapseKey ?? undefined,
      keepUntil: keepUntil(message),
      priority: payload.priority,
    };
  },

  settledEvent(message, recipients, at) {
    const failed = recipients.filter((recipient) => recipient.status === 'failed');
    if (failed.every(({ error }) => error?.code === 'canceled') && failed.length === recipients.length) {
      return undefined;
    }
    const reached = recipients.length - failed.length;
    const type = failed.length === 0 ? 'push.sent' : reached > 0 ? 'push.partial' : 'push.failed';
    const [first] = failed;
    return messageEvent(type, message, null, at, {
      to: shownTo(message),
      title: pushPayload(message).title,
      message: message.content,
      devicesTargeted: recipients.length,
      devicesReached: reached,
      devicesFailed: failed.length,
      devicesRemoved: failed.filter(isUnregistered).length,
      ...(first?.error ? { error: first.error.message, errorCode: first.error.code } : {}),
      failures: failed.slice(0, MAX_LISTED_FAILURES).map(({ address, error }) => ({
        deviceId: deviceIdIn(address),
        error: error?.message,
        errorCode: error?.code,
      })),
    });
  },

  async afterMoves(tx, messages, moved) {
    const dead = new Map<string, string[]>();
    for (const [move, recipient] of moved) {
      const accountId = messages.get(move.messageId)?.accountId;
      if (move.error?.code !== UNREGISTERED || accountId === undefined) continue;
      dead.set(accountId, [...(dead.get(accountId) ?? []), deviceIdIn(recipient.address)]);
    }
    for (const accountId of [...dead.keys()].sort())
      await tx.devices.remove({ accountId, environment: 'production' }, dead.get(accountId) ?? []);
  },
};

/** Returns the users and devices that the request named. */
function shownTo(message: Message): readonly string[] {
  const { userIds, deviceIds } = pushPayload(message);
  return [...userIds, ...deviceIds];
}

function keepUntil(message: OutgoingMessage): Date | undefined {
  const { ttlSeconds } = pushPayload(message);
  if (ttlSeconds === null) return undefined;
  return new Date((message.scheduledFor ?? message.createdAt).getTime() + ttlSeconds * 1000);
}

function isUnregistered(recipient: Recipient): boolean {
  return recipient.error?.code === UNREGISTERED;
}
