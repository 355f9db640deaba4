import { expect, it } from '@jest/globals';
import { createPasswordHasher } from '../../src/crypto/password-hasher.ts';

it('a new hash costs 19 MiB and two passes', async () => {
  expect(await createPasswordHasher().hash('secret')).toMatch(
    /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/,
  );
});

it('a password is hashed with the settings of a stored hash, whatever a new one costs', async () => {
  const stored = await createPasswordHasher().hash('secret');
  const cheap = createPasswordHasher({ memory: 8, passes: 1 });
  expect(await cheap.hash('secret', stored)).toBe(stored);
  expect(await cheap.hash('Secret', stored)).not.toBe(stored);
  expect(await cheap.hash('secret')).toMatch(/^\$argon2id\$v=19\$m=8,t=1,p=1\$/);
});
