import { expect, it } from '@jest/globals';
import { createRouting } from '../../src/channels/routing.ts';
import type { CreateCache } from '../../src/domain/ports/changes.ts';
import {
  isOwnNumber,
  numberOfRoute,
  routeOfNumber,
  WhatsAppNumbers,
} from '../../src/domain/senders/whatsapp-numbers.ts';
import { ChangeCache } from '../../src/runtime/change-cache.ts';

it('a route names its number', () => {
  expect(numberOfRoute(routeOfNumber('123'))).toBe('123');
  expect(numberOfRoute('whatsapp:*')).toBeUndefined();
  expect(numberOfRoute('sms:256')).toBeUndefined();
});

it('a number is told from a sender ID', () => {
  expect(['+256771000001', 'SERVICE', '2567'].map(isOwnNumber)).toEqual([true, false, false]);
});

it('a process that has not heard of a number yet looks it up before it refuses a message (R552)', async () => {
  const stored = [{ accountId: 'first', phoneNumberId: '1', number: '+256771000001' }];
  let reads = 0;
  const senders = {
    whatsAppNumbers: async () => {
      reads += 1;
      return [...stored];
    },
  };
  // No announcement reaches this process.
  const createCache: CreateCache = (kind, load) =>
    new ChangeCache(kind, { isListening: true, subscribe: () => undefined }, load);
  const numbers = new WhatsAppNumbers({
    stores: { senders },
    createCache,
    routing: createRouting([]),
    settings: { defaultSenderId: 'SERVICE' },
  });
  expect(await numbers.mayUse('first', routeOfNumber('1'))).toBe(true);
  stored.push({ accountId: 'second', phoneNumberId: '2', number: '+256771000002' });
  expect(await numbers.mayUse('second', routeOfNumber('2'))).toBe(true);
  expect(await numbers.mayUse('second', routeOfNumber('1'))).toBe(false);
  expect(await numbers.mayUse('second', 'whatsapp:*')).toBe(true);
  expect(reads).toBe(3);
});
