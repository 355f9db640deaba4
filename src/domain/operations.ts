import { accountOperations } from './accounts/account-operations.ts';
import { actorOperations } from './accounts/actor-operations.ts';
import { memberOperations } from './accounts/member-operations.ts';
import { operationsOf, permissionOperations } from './accounts/permission-operations.ts';
import { planOperations } from './accounts/plan-operations.ts';
import type { Sessions } from './accounts/sessions.ts';
import { alertOperations } from './alerts/alert-operations.ts';
import { analyticsOperations } from './analytics/analytics-operations.ts';
import { apiKeyBulkOperations } from './api-keys/api-key-bulk-operations.ts';
import { apiKeyListOperations } from './api-keys/api-key-list-operations.ts';
import { apiKeyOperations } from './api-keys/api-key-operations.ts';
import { auditOperations } from './audit/audit-operations.ts';
import { contactImportOperations } from './contacts/contact-import-operations.ts';
import { contactOperations } from './contacts/contact-operations.ts';
import type { Dependencies } from './dependencies.ts';
import { deviceOperations } from './devices/device-operations.ts';
import { heldOperations } from './limits/held-operations.ts';
import { sendLimitOperations } from './limits/send-limit-operations.ts';
import { liveOperations } from './live/live-operations.ts';
import { emailOperations } from './messages/email-operations.ts';
import { explainOperations } from './messages/explain-operations.ts';
import { exportOperations } from './messages/export-operations.ts';
import { inboundSmsOperations } from './messages/inbound-sms.ts';
import { messageListOperations } from './messages/message-list-operations.ts';
import { messageOperations } from './messages/message-operations.ts';
import { providerOperations } from './messages/provider-health.ts';
import { pushOperations } from './messages/push-operations.ts';
import { recipientListOperations } from './messages/recipient-list-operations.ts';
import { resendOperations } from './messages/resend-operations.ts';
import { returnedMailOperations } from './messages/returned-mail.ts';
import { createSendContext } from './messages/send-operation.ts';
import { smsOperations } from './messages/sms-operations.ts';
import { whatsAppOperations } from './messages/whatsapp-operations.ts';
import { priceOperations } from './money/price-operations.ts';
import { objectOperations } from './objects/object-operations.ts';
import { accessTokenOperations } from './people/access-token-operations.ts';
import { operatorResetOperations } from './people/operator-reset-operations.ts';
import { secondFactorOperations } from './people/second-factor-operations.ts';
import { sessionOperations } from './people/session-operations.ts';
import { singleSignOnOperations } from './people/single-sign-on-operations.ts';
import { lookUpOperations } from './platform/look-up-operations.ts';
import { platformOperations } from './platform/platform-operations.ts';
import { erasureOperations } from './recipients/erasure-operations.ts';
import { recoveryOperations } from './recovery/recovery-operations.ts';
import { requestOperations } from './requests/request-operations.ts';
import { searchOperations } from './search/search-operations.ts';
import { senderOperations } from './senders/sender-operations.ts';
import { optOutOperations } from './suppressions/opt-out-operations.ts';
import { suppressionOperations } from './suppressions/suppression-operations.ts';
import { usageOperations } from './usage/usage-operations.ts';
import { deliveryAnalyticsOperations } from './webhooks/delivery-analytics-operations.ts';
import { deliveryListOperations } from './webhooks/delivery-list-operations.ts';
import { deliveryOperations } from './webhooks/delivery-operations.ts';
import { eventOperations } from './webhooks/event-operations.ts';
import { webhookOperations } from './webhooks/webhook-operations.ts';

/**
 * Builds all operations of the gateway, grouped by noun. The code at the edges (REST, GraphQL, command line) uses
 * nothing else.
 */
export function createOperations(deps: Dependencies, sessions: Sessions) {
  const context = createSendContext(deps);
  const nouns = {
    accounts: accountOperations(deps),
    plans: planOperations(deps),
    actors: actorOperations(deps),
    objects: objectOperations(deps),
    members: memberOperations(deps, sessions),
    apiKeys: apiKeyOperations(deps),
    apiKeyLists: apiKeyListOperations(deps),
    messages: {
      ...messageOperations(deps),
      ...smsOperations(deps, context),
      ...emailOperations(context),
      ...pushOperations(deps, context),
      ...whatsAppOperations(deps, context),
      ...inboundSmsOperations(deps, context),
      ...returnedMailOperations(deps),
      ...resendOperations(deps, context),
      ...explainOperations(deps, context),
    },
    devices: deviceOperations(deps),
    contacts: contactOperations(deps),
    contactImports: contactImportOperations(deps),
    messageLists: messageListOperations(deps),
    recipientLists: recipientListOperations(deps),
    exports: exportOperations(deps),
    webhooks: { ...webhookOperations(deps), ...deliveryOperations(deps) },
    events: eventOperations(deps),
    deliveries: { ...deliveryListOperations(deps), ...deliveryAnalyticsOperations(deps) },
    providers: providerOperations(deps),
    prices: priceOperations(deps),
    sendLimits: sendLimitOperations(deps),
    held: heldOperations(deps),
    senders: senderOperations(deps),
    suppressions: suppressionOperations(deps),
    recipients: erasureOperations(deps),
    requests: requestOperations(deps),
    optOut: optOutOperations(deps),
    usage: usageOperations(deps),
    analytics: analyticsOperations(deps),
    alerts: alertOperations(deps),
    platform: { ...platformOperations(deps), ...lookUpOperations(deps) },
    live: liveOperations(deps),
    audit: auditOperations(deps),
    recovery: recoveryOperations(deps),
    secondFactors: secondFactorOperations(deps),
    operatorResets: operatorResetOperations(deps),
    personSessions: sessionOperations(deps),
    singleSignOn: singleSignOnOperations(deps),
  };
  const apiKeyBulk = apiKeyBulkOperations(deps, operationsOf(nouns));
  const known = { ...nouns, apiKeyBulk, search: searchOperations(deps, nouns) };
  const accessTokens = accessTokenOperations(deps, operationsOf(known));
  return { ...known, accessTokens, permissions: permissionOperations({ ...known, accessTokens }) };
}

export type Operations = ReturnType<typeof createOperations>;
