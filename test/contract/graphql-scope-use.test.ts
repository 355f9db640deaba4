import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';

interface ScopeUse {
  readonly scope: string;
  readonly lastUsedAt: string | null;
}

describe('the record of scopes that a key uses', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(() => gateway?.stop());

  const scopeUse = async (keyId: string): Promise<readonly ScopeUse[]> => {
    const query = 'query ($id: ID!) { apiKey(id: $id) { scopeUse { scope lastUsedAt } } }';
    const answer = await graphql(gateway, query, { token, variables: { id: keyId } });
    return answer.body.data.apiKey.scopeUse;
  };
  const usedOf = (uses: readonly ScopeUse[]) =>
    uses.filter((use) => use.lastUsedAt !== null).map((use) => use.scope);

  it('has all of them in order, with the time of the last request that needed each', async () => {
    const scopes = ['SEND_SMS', 'READ_MESSAGES', 'MANAGE_WEBHOOKS'];
    const { key, keyId } = await gateway.createKey(account.accountId, { scopes });
    expect(await scopeUse(keyId)).toEqual(scopes.map((scope) => ({ scope, lastUsedAt: null })));
    const before = Date.now();
    // A request that needs no scope is not recorded, nor is one that is refused because a scope is missing.
    expect((await gateway.call('GET', '/account', { key })).status).toBe(200);
    expect((await gateway.call('GET', '/developers/contacts', { key })).status).toBe(403);
    expect((await gateway.call('GET', '/developers/sms/history', { key })).status).toBe(200);
    const uses = await eventually(async () => {
      const found = await scopeUse(keyId);
      return usedOf(found).length > 0 ? found : undefined;
    });
    expect(usedOf(uses)).toEqual(['READ_MESSAGES']);
    const at = Date.parse(uses[1]?.lastUsedAt ?? '');
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());

    expect((await gateway.call('GET', '/developers/sms/history', { key })).status).toBe(200);
    await eventually(async () => {
      const [, again] = await scopeUse(keyId);
      return Date.parse(again?.lastUsedAt ?? '') > at ? true : undefined;
    });
  });

  it('has the narrow scopes when FULL_ACCESS was used in their place', async () => {
    const scopes = ['FULL_ACCESS', 'READ_CONTACTS'];
    const { key, keyId } = await gateway.createKey(account.accountId, { scopes });
    expect((await gateway.call('GET', '/developers/contacts', { key })).status).toBe(200);
    const used = await eventually(async () => {
      const found = usedOf(await scopeUse(keyId));
      return found.length > 0 ? found : undefined;
    });
    expect(used).toEqual(['READ_CONTACTS']);
    expect((await gateway.call('GET', '/developers/sms/history', { key })).status).toBe(200);
    await eventually(async () => (usedOf(await scopeUse(keyId)).length === 2 ? true : undefined));
  });

  it('is loaded for all keys of a page at once', async () => {
    const answer = await graphql(gateway, '{ apiKeys { keyId scopes scopeUse { scope } } }', { token });
    const keys: { scopes: string[]; scopeUse: ScopeUse[] }[] = answer.body.data.apiKeys;
    expect(keys.length).toBeGreaterThan(2);
    for (const key of keys) expect(key.scopeUse.map((use) => use.scope)).toEqual(key.scopes);
  });
});
