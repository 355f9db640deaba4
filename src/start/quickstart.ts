import type { SystemCaller } from '../domain/caller.ts';
import type { Operations } from '../domain/operations.ts';

const QUICKSTART: SystemCaller = { kind: 'system', name: 'quickstart' };
const EMAIL = 'owner@quickstart.example';
const BALANCE_UGX = 100_000;

/**
 * Creates the first account, its owner and a key for each environment. Returns the text that shows the secrets once.
 */
export async function createQuickstart(operations: Operations, baseUrl: string): Promise<string> {
  const { account, owner } = await operations.accounts.create.run(QUICKSTART, {
    email: EMAIL,
    currency: 'UGX',
    name: 'Quickstart',
    balance: BALANCE_UGX,
  });
  const keyFor = (environment: 'production' | 'sandbox') =>
    operations.apiKeys.create.run(QUICKSTART, {
      accountId: account.id,
      name: `Quickstart ${environment}`,
      scopes: ['FULL_ACCESS'],
      environment,
    });
  const production = await keyFor('production');
  const sandbox = await keyFor('sandbox');
  return `
A quickstart account was made. Its secrets are shown this once; keep them.
Open ${baseUrl}/console and sign in.

  account          ${account.id} (${BALANCE_UGX.toLocaleString('en')} UGX)
  sign in          ${EMAIL}  ${owner.password}
  production key   ${production.key}
  sandbox key      ${sandbox.key}

Send your first SMS (to the carrier simulator, until SMS_ROUTES names a real one):

curl -s ${baseUrl}/api/v1/developers/sms -H 'X-Api-Key: ${production.key}' -H 'Content-Type: application/json' -d '{"to":"+256700123456","message":"Hello from the gateway"}'
`;
}
