import { describe, expect, it } from '@jest/globals';
import {
  KEY_REQUESTS_MAX,
  KeyRequestCounter,
  refusedRequests,
} from '../../src/domain/api-keys/key-requests.ts';
import { KEY_PRESETS, scopeCatalog } from '../../src/domain/api-keys/scope-catalog.ts';
import type { Access, Scope } from '../../src/domain/caller.ts';

const ACCESS: Readonly<Record<string, Access>> = {
  'message.sendSms': { scopes: ['SEND_SMS'] },
  'message.get': { scopes: ['READ_MESSAGES'] },
  'contact.get': { scopes: ['READ_CONTACTS', 'MANAGE_CONTACTS'] },
  'contact.create': { scopes: ['MANAGE_CONTACTS'] },
  'apiKey.create': { scopes: [] },
  'account.get': { scopes: 'any' },
};
const key = (scopes: readonly Scope[], ipAllowlist: readonly string[] = []) => ({
  accountId: 'a',
  keyId: 'k',
  environment: 'production' as const,
  scopes,
  ipAllowlist,
});
const past = (operation: string, address: string, requests = 1) => ({
  keyId: 'k',
  operation,
  address,
  requests,
  lastDay: '2026-03-01',
});
const refused = (
  requests: readonly ReturnType<typeof past>[],
  before: ReturnType<typeof key>,
  after: ReturnType<typeof key>,
) => refusedRequests(requests, before, after, (name) => ACCESS[name]);

describe('requests that a changed key would be refused (R277)', () => {
  it('are those that only its scopes of before admit, the most first', () => {
    const requests = [
      past('message.sendSms', '192.0.2.1', 3),
      past('message.get', '192.0.2.1', 5),
      past('message.get', '192.0.2.2', 9),
      past('account.get', '192.0.2.1', 7),
      past('gone.operation', '192.0.2.1', 7),
    ];
    const found = refused(requests, key(['SEND_SMS', 'READ_MESSAGES']), key(['SEND_SMS']));
    expect(found).toEqual([
      { operation: 'message.get', address: '192.0.2.2', requests: 9, lastDay: '2026-03-01', reason: 'scope' },
      { operation: 'message.get', address: '192.0.2.1', requests: 5, lastDay: '2026-03-01', reason: 'scope' },
    ]);
    expect(refused(requests, key(['SEND_SMS']), key(['SEND_SMS']))).toEqual([]);
  });

  it('are those from outside the allowlist, and those whose address is unknown', () => {
    const requests = [
      past('message.sendSms', '192.0.2.1', 3),
      past('message.sendSms', '::ffff:198.51.100.7', 2),
      past('message.sendSms', '', 1),
    ];
    const found = refused(requests, key(['SEND_SMS']), key(['SEND_SMS'], ['192.0.2.0/24']));
    expect(found.map(({ address, reason }) => [address, reason])).toEqual([
      ['::ffff:198.51.100.7', 'address'],
      [null, 'unknown_address'],
    ]);
  });
});

describe('the counter of requests (R276)', () => {
  it('counts by key, operation and address, and starts anew', () => {
    const counter = new KeyRequestCounter();
    for (const address of ['192.0.2.1', '192.0.2.1', '2001:db8::1'])
      counter.note('k', 'message.get', address);
    counter.note('l', 'message.get', '192.0.2.1');
    expect(counter.take()).toEqual([
      { keyId: 'k', operation: 'message.get', address: '192.0.2.1', requests: 2 },
      { keyId: 'k', operation: 'message.get', address: '2001:db8::1', requests: 1 },
      { keyId: 'l', operation: 'message.get', address: '192.0.2.1', requests: 1 },
    ]);
    expect(counter.take()).toEqual([]);
  });

  it('keeps a bounded number of addresses apart, and counts the others together', () => {
    const counter = new KeyRequestCounter();
    for (let at = 0; at < KEY_REQUESTS_MAX + 50; at++) counter.note('k', 'message.get', `192.0.2.${at}`);
    const counts = counter.take();
    expect(counts).toHaveLength(KEY_REQUESTS_MAX + 1);
    expect(counts.at(-1)).toEqual({ keyId: 'k', operation: 'message.get', address: '', requests: 50 });
  });
});

describe('the catalog of scopes (R275)', () => {
  const catalog = scopeCatalog(Object.entries(ACCESS).map(([name, access]) => ({ name, access })));
  const of = (scope: Scope) => catalog.find((info) => info.scope === scope);

  it('says what a scope admits, and which scopes admit it, too', () => {
    expect(of('READ_CONTACTS')).toMatchObject({
      grants: ['contact.get'],
      impliedBy: ['MANAGE_CONTACTS', 'FULL_ACCESS'],
    });
    expect(of('MANAGE_CONTACTS')).toMatchObject({
      grants: ['contact.create', 'contact.get'],
      impliedBy: ['FULL_ACCESS'],
    });
    expect(of('FULL_ACCESS')).toMatchObject({
      grants: expect.arrayContaining(['apiKey.create', 'message.get']),
      impliedBy: [],
      risk: 'high',
    });
  });

  it('has templates that name no more than they say', () => {
    expect(KEY_PRESETS.map(({ name }) => name)).toEqual(expect.arrayContaining(['send_sms', 'read_only']));
    expect(KEY_PRESETS.flatMap(({ scopes }) => scopes)).not.toContain('FULL_ACCESS');
  });
});
