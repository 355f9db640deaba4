import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOTHING_ERASED } from '../../src/domain/recipients/erasure.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

/** Later than the rows of this test, so that all are due. */
const AT = new Date(Date.now() + 60_000);

describe('the turns of erasures', () => {
  let gateway: TestGateway;
  let busy: TestAccount;
  let other: TestAccount;
  beforeAll(async () => {
    // Without workers nothing advances the erasures.
    gateway = await startTestGateway({ ROLES: 'api' });
    busy = await gateway.createAccount();
    other = await gateway.createAccount();
  });
  afterAll(() => gateway?.stop());

  const erase = async ({ key }: TestAccount): Promise<string> => {
    const path = `/developers/recipients/${randomUUID()}@example.com?reason=asked`;
    const { status, body } = await gateway.call('DELETE', path, { key });
    expect(status).toBe(202);
    return body.erasure.id;
  };

  it('an account with many does not hold up those of others (R566)', async () => {
    const { erasures } = gateway.parts.stores;
    const many: string[] = [];
    for (let index = 0; index < 12; index += 1) many.push(await erase(busy));
    const one = await erase(other);
    const due = async (limit: number) => (await erasures.due(AT, limit)).map(({ id }) => id);
    expect(await due(10)).toEqual([many[0], one, ...many.slice(1, 9)]);
    // Who was advanced waits until the others were, and of an account the first request ends first.
    await erasures.save({ id: many[0] ?? '', step: 'answers', mark: null, erased: NOTHING_ERASED }, AT);
    expect(await due(2)).toEqual([one, many[0]]);
    await erasures.postpone(one, new Date(AT.getTime() + 1));
    expect(await due(2)).toEqual(many.slice(0, 2));
  });
});
