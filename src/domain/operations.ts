import { accountOperations } from './accounts/account-operations.ts';
import { apiKeyOperations } from './api-keys/api-key-operations.ts';
import type { Dependencies } from './dependencies.ts';
import { messageOperations } from './messages/message-operations.ts';
import { webhookOperations } from './webhooks/webhook-operations.ts';

/** The one seam that every edge sees: all that the gateway can do, by noun. */
export function createOperations(deps: Dependencies) {
  return {
    accounts: accountOperations(deps),
    apiKeys: apiKeyOperations(deps),
    messages: messageOperations(deps),
    webhooks: webhookOperations(deps),
  };
}

export type Operations = ReturnType<typeof createOperations>;
