import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AccountRole } from '../../src/domain/caller.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';

const CREATE = `mutation ($i: CreateApiKeyInput!) { createApiKey(input: $i) { key apiKey { keyId issuer { ... on User { id } } } } }`;
const ROTATE = `mutation ($k: ID!) {
  rotateApiKey(keyId: $k, overlapSeconds: 3600) { key apiKey { keyId createdBy issuer { ... on User { id } } } } }`;
const UPDATE = 'mutation ($k: ID!, $i: UpdateApiKeyInput!) { updateApiKey(keyId: $k, input: $i) { keyId } }';
const REVOKE = `mutation ($k: ID!, $d: Boolean) {
  revokeApiKey(keyId: $k, withDescendants: $d) { keyId revokedAt descendants { keyId revokedAt } } }`;
const SET_ROLE = `mutation ($u: ID!, $r: Role!, $keep: Boolean) {
  setMemberRole(userId: $u, role: $r, keepKeys: $keep) { id role apiKeys { keyId revokedAt } } }`;
const DISMISS = `mutation ($u: ID!, $keep: Boolean) {
  dismissMember(userId: $u, keepKeys: $keep) { id apiKeys { keyId revokedAt } } }`;
const REMOVE = 'mutation ($u: ID!, $keep: Boolean) { removeMember(userId: $u, keepKeys: $keep) }';

interface Made {
  readonly key: string;
  readonly keyId: string;
}
interface Person {
  readonly id: string;
  readonly token: string;
}

let gateway: TestGateway;
let account: TestAccount;
let owner: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.createAccount();
  owner = await signIn(gateway, account);
});
afterAll(() => gateway?.stop());

const ask = (token: string, query: string, variables: object = {}) =>
  graphql(gateway, query, { token, variables });
const join = async (role: AccountRole): Promise<Person> => {
  const { id, ...person } = await inviteMember(gateway, owner, role);
  return { id, token: await signIn(gateway, { ...person }) };
};
const make = async (token: string, scopes = ['SEND_SMS']): Promise<Made> => {
  const i = { name: 'key', scopes, environment: 'PRODUCTION' };
  const { key, apiKey } = (await ask(token, CREATE, { i })).body.data.createApiKey;
  return { key, keyId: apiKey.keyId };
};
const makeByKey = async (key: string, scopes = ['FULL_ACCESS']): Promise<Made> => {
  const body = { name: 'key', scopes, environment: 'production' };
  const { body: created } = await gateway.call('POST', '/developer/keys', { key, body });
  return { key: created.key, keyId: created.apiKey.keyId };
};
const works = async (...keys: readonly Made[]) => {
  const found = [];
  for (const { key } of keys) found.push((await gateway.call('GET', '/account', { key })).status === 200);
  return found;
};
/** Returns for each key whether it works or is revoked. */
const standing = (keys: readonly { keyId: string; revokedAt: string | null }[]) =>
  new Map(keys.map(({ keyId, revokedAt }) => [keyId, revokedAt === null ? 'works' : 'revoked']));

describe('keys of a person who leaves or gets a smaller role (R204)', () => {
  it('on removal are all revoked, with the keys they made, but not what others have rotated since', async () => {
    const { id, token } = await join('ADMIN');
    const [full, plain, handedOver] = [
      await make(token, ['FULL_ACCESS']),
      await make(token),
      await make(token, ['FULL_ACCESS']),
    ];
    const made = await makeByKey(full.key);
    const madeInTurn = await makeByKey(made.key, ['SEND_SMS']);
    const ofAnother = await make(owner);
    // The owner rotates a key of the person, and the person rotates a key of the owner. A person who rotates a key gets
    // its new secret.
    const taken = (await ask(token, ROTATE, { k: ofAnother.keyId })).body.data.rotateApiKey;
    const kept = (await ask(owner, ROTATE, { k: handedOver.keyId })).body.data.rotateApiKey;
    expect(kept.apiKey).toMatchObject({
      createdBy: `user:${id}`,
      issuer: { id: expect.not.stringContaining(id) },
    });
    const answer = await ask(owner, DISMISS, { u: id });
    const { dismissMember } = answer.body.data;
    expect(dismissMember.id).toBe(id);
    expect(standing(dismissMember.apiKeys)).toEqual(
      new Map(
        [full, plain, handedOver, made, madeInTurn, { keyId: taken.apiKey.keyId }].map(({ keyId }) => [
          keyId,
          'revoked',
        ]),
      ),
    );
    const gone = [full, plain, handedOver, made, madeInTurn, { key: taken.key, keyId: '' }];
    expect(await works(...gone)).toEqual(gone.map(() => false));
    expect(await works(ofAnother, { key: kept.key, keyId: '' })).toEqual([true, true]);
    const log = (await ask(owner, '{ auditLog(first: 100) { nodes { action target { id } } } }')).body.data
      .auditLog.nodes;
    for (const { keyId } of [full, plain, made]) {
      expect(log).toContainEqual({ action: 'apiKey.revoke', target: { id: keyId } });
    }
  });

  it.each([
    ['DEVELOPER', [false, true]],
    ['VIEWER', [false, false]],
    ['ADMIN', [true, true]],
    ['OWNER', [true, true]],
  ])('made %s: those beyond the new role are revoked', async (role, expected) => {
    const { id, token } = await join('ADMIN');
    const keys = [await make(token, ['FULL_ACCESS']), await make(token)];
    const { setMemberRole } = (await ask(owner, SET_ROLE, { u: id, r: role })).body.data;
    expect(setMemberRole).toMatchObject({ id, role });
    expect([...standing(setMemberRole.apiKeys)]).toEqual(
      keys.map(({ keyId }, index) => [keyId, expected[index] ? 'works' : 'revoked']),
    );
    expect(await works(...keys)).toEqual(expected);
  });

  it('are kept with keepKeys, and returned', async () => {
    const [lowered, removed, dismissed] = [await join('ADMIN'), await join('ADMIN'), await join('ADMIN')];
    const keys = [];
    for (const { token } of [lowered, removed, dismissed]) keys.push(await make(token, ['FULL_ACCESS']));
    const first = await ask(owner, SET_ROLE, { u: lowered.id, r: 'VIEWER', keep: true });
    expect([...standing(first.body.data.setMemberRole.apiKeys)]).toEqual([[keys[0]?.keyId, 'works']]);
    expect((await ask(owner, REMOVE, { u: removed.id, keep: true })).body).toEqual({
      data: { removeMember: true },
    });
    const last = await ask(owner, DISMISS, { u: dismissed.id, keep: true });
    expect([...standing(last.body.data.dismissMember.apiKeys)]).toEqual([[keys[2]?.keyId, 'works']]);
    expect(await works(...keys)).toEqual([true, true, true]);
  });

  it('are revoked by removeMember as by dismissMember', async () => {
    const { id, token } = await join('DEVELOPER');
    const key = await make(token);
    expect((await ask(owner, REMOVE, { u: id })).body).toEqual({ data: { removeMember: true } });
    expect(await works(key)).toEqual([false]);
  });

  it('are kept when an ADMIN fails to remove an OWNER', async () => {
    const admin = await join('ADMIN');
    const boss = await join('OWNER');
    const key = await make(boss.token, ['FULL_ACCESS']);
    for (const answer of [
      await ask(admin.token, SET_ROLE, { u: boss.id, r: 'VIEWER' }),
      await ask(admin.token, DISMISS, { u: boss.id }),
    ]) {
      expect(codesOf(answer)).toEqual(['FORBIDDEN']);
    }
    expect(await works(key)).toEqual([true]);
  });

  it('include a key that the person makes at the same moment', async () => {
    const { id, token } = await join('ADMIN');
    const caller = { kind: 'member', accountId: account.accountId, userId: id, role: 'ADMIN' } as const;
    const input = { name: 'late', scopes: ['FULL_ACCESS'], environment: 'production' };
    const first = await make(token);
    const { apiKeys } = gateway.parts.operations;
    const making = Array.from({ length: 6 }, () => apiKeys.create.run(caller, input).catch(() => undefined));
    expect(codesOf(await ask(owner, DISMISS, { u: id }))).toEqual([]);
    for (const made of await Promise.all(making)) {
      if (made) expect(await works({ key: made.key, keyId: '' })).toEqual([false]);
    }
    // The session has ended. Another process may not know this yet, but must refuse it as well.
    await expect(apiKeys.create.run(caller, input)).rejects.toMatchObject({ code: 'unauthorized' });
    await expect(apiKeys.rotate.run(caller, { keyId: first.keyId })).rejects.toMatchObject({
      code: 'unauthorized',
    });
    const lowered = await join('ADMIN');
    await ask(owner, SET_ROLE, { u: lowered.id, r: 'DEVELOPER' });
    await expect(apiKeys.create.run({ ...caller, userId: lowered.id }, input)).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('a removed person, or one with a new role, can neither invite nor promote', async () => {
    const { members } = gateway.parts.operations;
    const [removed, lowered, other] = [await join('ADMIN'), await join('ADMIN'), await join('VIEWER')];
    const caller = { kind: 'member', accountId: account.accountId, role: 'ADMIN' } as const;
    await ask(owner, DISMISS, { u: removed.id });
    await ask(owner, SET_ROLE, { u: lowered.id, r: 'DEVELOPER' });
    for (const [{ id: userId }, code] of [
      [removed, 'unauthorized'],
      [lowered, 'forbidden'],
    ] as const) {
      const former = { ...caller, userId };
      const refusal = { code };
      const email = `late-${userId}@test.example`;
      await expect(members.invite.run(former, { email, role: 'ADMIN' })).rejects.toMatchObject(refusal);
      const raise = { userId: other.id, role: 'ADMIN' };
      await expect(members.setRole.run(former, raise)).rejects.toMatchObject(refusal);
      await expect(members.remove.run(former, { userId: other.id })).rejects.toMatchObject(refusal);
    }
    const { members: people } = (await ask(owner, '{ members { id role } }')).body.data;
    expect(people).toContainEqual({ id: other.id, role: 'VIEWER' });
  });

  it('are listed with the person, also for operators who may see them', async () => {
    const { id, token } = await join('DEVELOPER');
    const key = await make(token);
    const { members } = (await ask(token, '{ members { id apiKeys { keyId name } } }')).body.data;
    expect(members.find((member: { id: string }) => member.id === id).apiKeys).toEqual([
      { keyId: key.keyId, name: 'key' },
    ]);
    const operator = await signInOperator(gateway);
    expect((await ask(operator, '{ viewer { apiKeys { keyId } } }')).body.data.viewer.apiKeys).toEqual([]);
  });
});

describe('ended keys and descendants in GraphQL', () => {
  it('a change of an ended key is refused with KEY_ENDED (R203)', async () => {
    const { keyId } = await make(owner);
    await ask(owner, REVOKE, { k: keyId });
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    for (const [query, variables] of [
      [UPDATE, { i: { expiresAt } }],
      [UPDATE, { i: { expiresAt: null } }],
      [UPDATE, { i: { name: 'again' } }],
      [ROTATE, {}],
    ] as const) {
      expect(codesOf(await ask(owner, query, { k: keyId, ...variables }))).toEqual(['KEY_ENDED']);
    }
    const operator = await signIn(gateway, await newOperator());
    const limit = 'mutation ($k: ID!) { setRateLimit(keyId: $k, perMinute: 5) { keyId } }';
    expect(codesOf(await ask(operator, limit, { k: keyId }))).toEqual(['KEY_ENDED']);
    expect(codesOf(await ask(owner, REVOKE, { k: keyId }))).toEqual([]);
  });

  it('withDescendants revokes what a key made, and the answer lists it', async () => {
    const root = await make(owner, ['FULL_ACCESS']);
    const child = await makeByKey(root.key);
    const grandchild = await makeByKey(child.key, ['SEND_SMS']);
    const before = await ask(
      owner,
      'query ($k: ID!) { apiKey(id: $k) { descendants { keyId revokedAt } } }',
      {
        k: root.keyId,
      },
    );
    expect([...standing(before.body.data.apiKey.descendants)]).toEqual([
      [child.keyId, 'works'],
      [grandchild.keyId, 'works'],
    ]);
    const alone = (await ask(owner, REVOKE, { k: grandchild.keyId, d: false })).body.data.revokeApiKey;
    expect(alone).toEqual({ keyId: grandchild.keyId, revokedAt: expect.any(String), descendants: [] });
    const { revokeApiKey } = (await ask(owner, REVOKE, { k: root.keyId, d: true })).body.data;
    expect(revokeApiKey.revokedAt).toEqual(expect.any(String));
    expect([...standing(revokeApiKey.descendants)]).toEqual([
      [child.keyId, 'revoked'],
      [grandchild.keyId, 'revoked'],
    ]);
    expect(await works(root, child, grandchild)).toEqual([false, false, false]);
  });

  it('descendants of another account are hidden', async () => {
    const stranger = await signIn(gateway, await gateway.createAccount());
    const root = await make(owner, ['FULL_ACCESS']);
    const child = await makeByKey(root.key);
    const answer = await ask(stranger, REVOKE, { k: root.keyId, d: true });
    expect(codesOf(answer)).toEqual(['NOT_FOUND']);
    expect(answer.text).not.toContain(child.keyId);
    expect(await works(root, child)).toEqual([true, true]);
  });

  it('a DEVELOPER revokes with descendants only keys they made', async () => {
    const { token } = await join('DEVELOPER');
    const own = await make(token);
    const foreign = await make(owner);
    expect(codesOf(await ask(token, REVOKE, { k: foreign.keyId, d: true }))).toEqual(['FORBIDDEN']);
    expect(codesOf(await ask(token, REVOKE, { k: own.keyId, d: true }))).toEqual([]);
    expect(await works(own, foreign)).toEqual([false, true]);
  });
});

async function newOperator() {
  const email = 'second-operator@platform.example';
  const system = { kind: 'system', name: 'test' } as const;
  const { password } = await gateway.parts.operations.accounts.createOperator.run(system, { email });
  return { email, password };
}
