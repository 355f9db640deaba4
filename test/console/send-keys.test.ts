import { expect, it } from '@jest/globals';
import { SendKeys } from '../../src/console/lib/send-keys.ts';
import { eventually } from '../support/eventually.ts';

it('the same content keeps its idempotency key until a moment after it was sent; other content gets another', async () => {
  const keys = new SendKeys();
  const first = keys.keyOf('a');
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(keys.keyOf('b')).not.toBe(first);
  expect(keys.keyOf('a')).toBe(first);
  keys.sent('a');
  expect(keys.keyOf('a')).toBe(first);
  await eventually(() => keys.keyOf('a') !== first);
});
