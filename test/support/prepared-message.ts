import { randomUUID } from 'node:crypto';
import type { PreparedMessage } from '../../src/domain/messages/message.ts';

const DAY_MS = 86_400_000;

/** Returns a priced SMS to one recipient for 35 minor units. For tests that call intake directly. */
export function preparedMessage(accountId: string, changes: Partial<PreparedMessage> = {}): PreparedMessage {
  return {
    id: randomUUID(),
    accountId,
    channel: 'sms',
    environment: 'production',
    from: 'SERVICE',
    content: 'Hello',
    payload: null,
    bulk: null,
    recipients: [{ address: '+256700123456', costMinor: 35, routeKey: '*', heldUntil: null }],
    costMinor: 35,
    unitPriceMinor: 35,
    currency: 'UGX',
    invalidSkipped: 0,
    duplicatesRemoved: 0,
    purpose: 'transactional',
    suppressedSkipped: 0,
    apiKeyId: null,
    userId: null,
    createdAt: new Date(),
    scheduledFor: null,
    heldUntil: null,
    expiresAt: new Date(Date.now() + DAY_MS),
    idempotency: null,
    limits: [],
    review: null,
    ...changes,
  };
}
