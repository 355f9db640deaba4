import { describe, expect, it } from '@jest/globals';
import { type Access, admittingScope, type Caller, refusal, type Scope } from '../../src/domain/caller.ts';

const keyWith = (...scopes: Scope[]): Caller => ({
  kind: 'api-key',
  accountId: 'a',
  keyId: 'k',
  scopes,
  environment: 'sandbox',
});
const FULL = keyWith('FULL_ACCESS');

describe('permissions of a caller (R117)', () => {
  it.each<[string, Access]>([
    ['operators only', { operator: true }],
    ['roles only', { roles: ['OWNER'] }],
    ['the gateway itself', {}],
  ])('an API key is refused an operation for %s, even with FULL_ACCESS', (_, access) => {
    expect(refusal(access, FULL)).toMatchObject({
      code: 'forbidden',
      message: 'This is for people who sign in, not for API keys.',
    });
    expect(admittingScope(access, ['FULL_ACCESS'])).toBeUndefined();
  });

  it('an API key needs one of the listed scopes, or FULL_ACCESS', () => {
    const access: Access = { scopes: ['SEND_SMS'], roles: ['OWNER'] };
    expect(refusal(access, FULL)).toBeUndefined();
    expect(refusal(access, keyWith('SEND_SMS'))).toBeUndefined();
    expect(refusal(access, keyWith('SEND_PUSH'))?.message).toBe(
      'Insufficient scopes. Required one of: SEND_SMS, FULL_ACCESS',
    );
    expect(refusal({ scopes: [] }, FULL)).toBeUndefined();
    expect(refusal({ scopes: [] }, keyWith('SEND_SMS'))?.code).toBe('forbidden');
    expect(refusal({ scopes: 'any' }, keyWith('SEND_PUSH'))).toBeUndefined();
    expect(admittingScope(access, ['FULL_ACCESS', 'SEND_SMS'])).toBe('SEND_SMS');
  });
});
