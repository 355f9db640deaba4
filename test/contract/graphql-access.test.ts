import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type GraphQLArgument, type GraphQLInputField, getNamedType, isInputObjectType } from 'graphql';
import { generateSync } from 'otplib';
import { type Caller, refusal } from '../../src/domain/caller.ts';
import { DomainError } from '../../src/domain/errors.ts';
import type { Operation } from '../../src/domain/operation.ts';
import { createSchema } from '../../src/graphql/schema.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { askStream } from '../support/live.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const ROLES = ['OWNER', 'ADMIN', 'DEVELOPER', 'SUPPORT', 'VIEWER', 'OPERATOR', 'OPERATOR_READONLY'] as const;
type Role = (typeof ROLES)[number];
/**
 * The table of all operations with the roles that may call them. People review the file, and the tests below enforce
 * it.
 */
const TABLE = new URL('operation-roles.json', import.meta.url);
const NOBODY = '01939f5e-7a00-7000-8000-000000000000';

const callerOf = (role: Role): Caller =>
  role === 'OPERATOR' || role === 'OPERATOR_READONLY'
    ? { kind: 'operator', userId: NOBODY, isReadOnly: role === 'OPERATOR_READONLY' }
    : { kind: 'member', accountId: NOBODY, userId: NOBODY, role };

/**
 * For each root field: the operation that it calls, and a document. The document's ids name nothing, so an allowed call
 * changes nothing.
 */
const ASKED: Record<string, { by: string; document: string }> = {
  viewer: { by: 'member.viewer', document: '{ viewer { id } }' },
  node: { by: 'object.find', document: `{ node(id: "${NOBODY}") { id } }` },
  nodes: { by: 'object.find', document: `{ nodes(ids: ["${NOBODY}"]) { id } }` },
  search: { by: 'search.find', document: '{ search(text: "nothing") { id } }' },
  permissions: { by: 'permission.list', document: '{ permissions }' },
  account: { by: 'account.find', document: `{ account(id: "${NOBODY}") { id } }` },
  accounts: { by: 'account.list', document: '{ accounts(first: 1) { nodes { id } } }' },
  ledger: { by: 'account.ledger', document: '{ ledger { nodes { seq } } }' },
  statement: { by: 'account.statement', document: '{ statement(month: "2026-01") { month } }' },
  members: { by: 'member.list', document: '{ members { id } }' },
  message: { by: 'message.find', document: `{ message(id: "${NOBODY}") { id } }` },
  explainMessage: { by: 'message.explain', document: `{ explainMessage(id: "${NOBODY}") { cause } }` },
  messages: { by: 'message.list', document: '{ messages { nodes { id } } }' },
  recipients: { by: 'message.listRecipients', document: '{ recipients { nodes { to } } }' },
  apiKeys: { by: 'apiKey.list', document: '{ apiKeys { keyId } }' },
  scopeCatalog: { by: 'apiKey.scopeCatalog', document: '{ scopeCatalog { scope } }' },
  keyPresets: { by: 'apiKey.presets', document: '{ keyPresets { name } }' },
  unusedScopes: { by: 'apiKey.unusedScopes', document: '{ unusedScopes { scope } }' },
  updateApiKeys: {
    by: 'apiKey.updateMany',
    document: 'mutation { updateApiKeys(keyIds: ["0123456789abcdef"]) { userErrors { code } } }',
  },
  apiKey: { by: 'apiKey.find', document: '{ apiKey(id: "0123456789abcdef") { keyId } }' },
  webhooks: { by: 'webhook.list', document: '{ webhooks { id } }' },
  webhook: { by: 'webhook.get', document: `{ webhook(id: "${NOBODY}") { id } }` },
  webhookDeliveries: { by: 'delivery.list', document: '{ webhookDeliveries { nodes { id } } }' },
  webhookDelivery: { by: 'delivery.find', document: `{ webhookDelivery(id: "${NOBODY}") { id } }` },
  webhookHeaders: { by: 'webhook.headers', document: '{ webhookHeaders { signature } }' },
  eventTypes: { by: 'event.types', document: '{ eventTypes { event } }' },
  simulatorReceiverUrl: { by: 'event.simulatorUrl', document: '{ simulatorReceiverUrl }' },
  contacts: { by: 'contact.slice', document: '{ contacts { nodes { id } } }' },
  contact: { by: 'contact.get', document: `{ contact(id: "${NOBODY}") { id } }` },
  analytics: {
    by: 'analytics.query',
    document: '{ analytics(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z") { at } }',
  },
  platformAnalytics: {
    by: 'platform.analytics',
    document: '{ platformAnalytics(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z") { at } }',
  },
  troubledAccounts: { by: 'platform.troubles', document: '{ troubledAccounts { id } }' },
  lookUpMessages: {
    by: 'platform.lookUp',
    document: `mutation { lookUpMessages(query: "${NOBODY}") { id } }`,
  },
  carrierHistory: {
    by: 'platform.carriers',
    document: '{ carrierHistory(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z") { at } }',
  },
  usage: {
    by: 'usage.query',
    document: '{ usage(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z", interval: DAY) { at } }',
  },
  auditLog: { by: 'audit.list', document: '{ auditLog { nodes { id } } }' },
  prices: { by: 'price.list', document: '{ prices { amount } }' },
  resendMessage: {
    by: 'message.resend',
    document: `mutation { resendMessage(id: "${NOBODY}") { id } }`,
  },
  estimateSms: {
    by: 'message.quoteSms',
    document: '{ estimateSms(input: { to: "x", message: "Hi" }) { cost } }',
  },
  createAccount: {
    by: 'account.create',
    document: 'mutation { createAccount(input: { email: "a@b.example", currency: "none" }) { id } }',
  },
  topUpAccount: {
    by: 'account.topUp',
    document: `mutation { topUpAccount(accountId: "${NOBODY}", amount: 1) { id } }`,
  },
  setRetention: {
    by: 'account.setRetention',
    document: `mutation { setRetention(accountId: "${NOBODY}", contentDays: 1) { contentDays } }`,
  },
  providers: { by: 'provider.health', document: '{ providers { name } }' },
  recovery: { by: 'recovery.hold', document: '{ recovery { hold { text } } }' },
  operators: { by: 'operator.list', document: '{ operators { id } }' },
  operatorResets: { by: 'operatorReset.list', document: '{ operatorResets { id } }' },
  requestOperatorReset: {
    by: 'operatorReset.request',
    document: `mutation { requestOperatorReset(userId: "${NOBODY}", kind: FACTORS) { passwordPart } }`,
  },
  confirmOperatorReset: {
    by: 'operatorReset.confirm',
    document: `mutation { confirmOperatorReset(id: "${NOBODY}") { passwordPart } }`,
  },
  refuseOperatorReset: {
    by: 'operatorReset.refuse',
    document: `mutation { refuseOperatorReset(id: "${NOBODY}") }`,
  },
  plans: { by: 'plan.list', document: '{ plans { name } }' },
  setPlan: {
    by: 'plan.set',
    document: 'mutation { setPlan(input: { name: "", perMinute: 1, webhooksPerMinute: 1 }) { name } }',
  },
  requests: { by: 'request.list', document: '{ requests { nodes { id } } }' },
  request: { by: 'request.find', document: `{ request(id: "${NOBODY}") { id } }` },
  requestLogging: { by: 'request.logging', document: '{ requestLogging { fullBodiesUntil } }' },
  setRequestLogging: {
    by: 'request.setLogging',
    document: 'mutation { setRequestLogging(fullBodies: false) { fullBodiesUntil } }',
  },
  startExport: { by: 'export.start', document: 'mutation { startExport(list: MESSAGES, filters: []) }' },
  erasures: { by: 'erasure.slice', document: '{ erasures { nodes { id } } }' },
  erasure: { by: 'erasure.get', document: `{ erasure(id: "${NOBODY}") { id } }` },
  eraseRecipient: {
    by: 'recipient.erase',
    document: 'mutation { eraseRecipient(address: "x", reason: "x") { id } }',
  },
  exportRecipient: {
    by: 'recipient.export',
    document: 'mutation { exportRecipient(address: "x") { nextAfter } }',
  },
  suppressions: { by: 'suppression.slice', document: '{ suppressions { nodes { id } } }' },
  suppress: {
    by: 'suppression.add',
    document: 'mutation { suppress(input: { channel: SMS, address: "x", scope: ALL }) { id } }',
  },
  importSuppressions: {
    by: 'suppression.import',
    document: 'mutation { importSuppressions(csv: "x") { rows } }',
  },
  exportSuppressions: {
    by: 'suppression.export',
    document: 'mutation { exportSuppressions(after: "x") { csv } }',
  },
  removeSuppression: {
    by: 'suppression.remove',
    document: `mutation { removeSuppression(id: "${NOBODY}") }`,
  },
  alerts: { by: 'alert.slice', document: '{ alerts { nodes { id } } }' },
  alertRules: { by: 'alert.rules', document: '{ alertRules { kind } }' },
  setAlertRule: {
    by: 'alert.setRule',
    document: 'mutation { setAlertRule(input: { kind: LIMIT_NEAR, threshold: 1000 }) { kind } }',
  },
  senders: { by: 'sender.slice', document: '{ senders { nodes { id } } }' },
  sender: { by: 'sender.get', document: `{ sender(id: "${NOBODY}") { id } }` },
  requestSender: {
    by: 'sender.request',
    document: 'mutation { requestSender(input: { channel: SMS, senderId: "?" }) { id } }',
  },
  verifySender: { by: 'sender.verify', document: `mutation { verifySender(id: "${NOBODY}") { id } }` },
  removeSender: { by: 'sender.remove', document: `mutation { removeSender(id: "${NOBODY}") }` },
  reviewSender: {
    by: 'sender.review',
    document: `mutation { reviewSender(id: "${NOBODY}", status: REJECTED) { id } }`,
  },
  setSenderRegistrations: {
    by: 'sender.setRegistrations',
    document: `mutation { setSenderRegistrations(id: "${NOBODY}", registrations: []) { id } }`,
  },
  assignWhatsAppNumber: {
    by: 'sender.assignNumber',
    document: `mutation { assignWhatsAppNumber(accountId: "${NOBODY}", phoneNumberId: "1", number: "+256700123456") { id } }`,
  },
  removeWhatsAppNumber: {
    by: 'sender.removeNumber',
    document: `mutation { removeWhatsAppNumber(accountId: "${NOBODY}") }`,
  },
  heldBlocks: { by: 'held.list', document: `{ heldBlocks(accountId: "${NOBODY}") { block } }` },
  reviewHeld: {
    by: 'held.review',
    document: `mutation { reviewHeld(accountId: "${NOBODY}", block: "+256770001", decision: REJECT) { left } }`,
  },
  sendLimits: { by: 'account.limits', document: `{ sendLimits(accountId: "${NOBODY}") { keyId } }` },
  setKeyLimits: {
    by: 'apiKey.setLimits',
    document: 'mutation { setKeyLimits(keyId: "x", input: {}) { keyId } }',
  },
  setAccountLimits: {
    by: 'account.setLimits',
    document: `mutation { setAccountLimits(accountId: "${NOBODY}", input: {}) { keyId } }`,
  },
  setAccountPlan: {
    by: 'account.setPlan',
    document: `mutation { setAccountPlan(accountId: "${NOBODY}") { id } }`,
  },
  changePassword: {
    by: 'member.changePassword',
    document: 'mutation { changePassword(current: "x", new: "y") }',
  },
  inviteMember: {
    by: 'member.invite',
    document: 'mutation { inviteMember(email: "none", role: VIEWER) { password } }',
  },
  resetUserPassword: {
    by: 'member.resetPassword',
    document: 'mutation { resetUserPassword(email: "nobody@test.example") { password } }',
  },
  setMemberRole: {
    by: 'member.setRole',
    document: `mutation { setMemberRole(userId: "${NOBODY}", role: VIEWER) { id } }`,
  },
  removeMember: { by: 'member.remove', document: `mutation { removeMember(userId: "${NOBODY}") }` },
  dismissMember: { by: 'member.remove', document: `mutation { dismissMember(userId: "${NOBODY}") { id } }` },
  createApiKey: {
    by: 'apiKey.create',
    document: `mutation { createApiKey(input: { name: "", scopes: [SEND_SMS], environment: SANDBOX, accountId: "${NOBODY}" }) { key } }`,
  },
  updateApiKey: {
    by: 'apiKey.update',
    document: 'mutation { updateApiKey(keyId: "x", input: { name: "n" }) { keyId } }',
  },
  rotateApiKey: { by: 'apiKey.rotate', document: 'mutation { rotateApiKey(keyId: "x") { key } }' },
  revokeApiKey: { by: 'apiKey.revoke', document: 'mutation { revokeApiKey(keyId: "x") { keyId } }' },
  setRateLimit: {
    by: 'apiKey.setRateLimit',
    document: 'mutation { setRateLimit(keyId: "x", perMinute: 5) { keyId } }',
  },
  registerWebhook: {
    by: 'webhook.register',
    document: 'mutation { registerWebhook(input: { url: "https://x.example", events: [] }) { secret } }',
  },
  updateWebhook: {
    by: 'webhook.update',
    document: `mutation { updateWebhook(id: "${NOBODY}", input: {}) { id } }`,
  },
  deleteWebhook: { by: 'webhook.delete', document: `mutation { deleteWebhook(id: "${NOBODY}") }` },
  rotateWebhookSecret: {
    by: 'webhook.rotateSecret',
    document: `mutation { rotateWebhookSecret(id: "${NOBODY}") { secret } }`,
  },
  sendTestEvent: {
    by: 'webhook.test',
    document: `mutation { sendTestEvent(webhookId: "${NOBODY}") { id } }`,
  },
  redeliver: { by: 'webhook.retry', document: `mutation { redeliver(deliveryId: "${NOBODY}") { id } }` },
  redeliverMany: {
    by: 'webhook.retryMany',
    document: `mutation { redeliverMany(webhookId: "${NOBODY}", deliveryIds: ["${NOBODY}"]) { queued } }`,
  },
  redeliverFailed: {
    by: 'webhook.recover',
    document: `mutation { redeliverFailed(webhookId: "${NOBODY}", since: "2026-01-01T00:00:00Z") { queued } }`,
  },
  sendSms: {
    by: 'message.sendSms',
    document: 'mutation { sendSms(input: { to: "x", message: "Hi" }) { id } }',
  },
  sendEmail: {
    by: 'message.sendEmail',
    document: 'mutation { sendEmail(input: { to: "x", subject: "", text: "Hi" }) { id } }',
  },
  sendPush: {
    by: 'message.sendPush',
    document: 'mutation { sendPush(input: { to: "nobody", title: "", body: "" }) { id } }',
  },
  sendWhatsApp: {
    by: 'message.sendWhatsApp',
    document: 'mutation { sendWhatsApp(input: { to: "x", type: TEXT, text: { body: "Hi" } }) { id } }',
  },
  device: { by: 'device.get', document: `{ device(id: "${NOBODY}") { id } }` },
  webPushKey: { by: 'device.webPushKey', document: '{ webPushKey }' },
  eventFeed: { by: 'event.feed', document: '{ eventFeed { cursor } }' },
  whatsAppWindow: {
    by: 'message.whatsAppWindow',
    document: '{ whatsAppWindow(to: "+256700123456") { isOpen } }',
  },
  devices: { by: 'device.slice', document: '{ devices { nodes { id } } }' },
  registerDevice: {
    by: 'device.register',
    document: 'mutation { registerDevice(input: { token: "", platform: IOS, userId: "u" }) { id } }',
  },
  removeDevice: { by: 'device.remove', document: `mutation { removeDevice(id: "${NOBODY}") }` },
  cancelMessage: { by: 'message.cancel', document: `mutation { cancelMessage(id: "${NOBODY}") { id } }` },
  createContact: {
    by: 'contact.create',
    document: 'mutation { createContact(input: { name: "n" }) { id } }',
  },
  updateContact: {
    by: 'contact.update',
    document: `mutation { updateContact(id: "${NOBODY}", input: {}) { id } }`,
  },
  deleteContact: { by: 'contact.remove', document: `mutation { deleteContact(id: "${NOBODY}") }` },
  importContacts: { by: 'contact.import', document: 'mutation { importContacts(csv: "") { id } }' },
  contactImport: { by: 'contact.findImport', document: `{ contactImport(id: "${NOBODY}") { id } }` },
  contactImports: { by: 'contact.listImports', document: '{ contactImports { nodes { id } } }' },
  setPrice: {
    by: 'price.set',
    document: 'mutation { setPrice(input: { currency: "none", channel: SMS, amount: 1 }) { amount } }',
  },
  changePrices: {
    by: 'price.change',
    document: 'mutation { changePrices(input: { currency: "none", changes: [] }) { amount } }',
  },
  previewPrices: {
    by: 'price.preview',
    document: '{ previewPrices(input: { currency: "none", changes: [] }) { from } }',
  },
  priceFor: {
    by: 'price.holding',
    document: '{ priceFor(currency: "UGX", channel: SMS, to: "x") { amount } }',
  },
  factors: { by: 'secondFactor.list', document: '{ factors { id } }' },
  recoveryCodesLeft: { by: 'secondFactor.countRecoveryCodes', document: '{ recoveryCodesLeft }' },
  startPasskey: { by: 'secondFactor.startPasskey', document: 'mutation { startPasskey }' },
  finishPasskey: {
    by: 'secondFactor.finishPasskey',
    document: 'mutation { finishPasskey(passkey: {}) { recoveryCodes } }',
  },
  startTotp: { by: 'secondFactor.startTotp', document: 'mutation { startTotp(name: "") { uri } }' },
  confirmTotp: {
    by: 'secondFactor.confirmTotp',
    document: 'mutation { confirmTotp(code: "x") { recoveryCodes } }',
  },
  renewRecoveryCodes: {
    by: 'secondFactor.renewRecoveryCodes',
    document: 'mutation { renewRecoveryCodes { recoveryCodes } }',
  },
  removeFactor: { by: 'secondFactor.remove', document: `mutation { removeFactor(id: "${NOBODY}") }` },
  resetFactors: {
    by: 'secondFactor.reset',
    document: `mutation { resetFactors(userId: "${NOBODY}") { id } }`,
  },
  setSecurityPolicy: {
    by: 'account.setSecurityPolicy',
    document: 'mutation { setSecurityPolicy(requireSecondFactor: false) { id } }',
  },
  singleSignOn: { by: 'singleSignOn.get', document: '{ singleSignOn { issuer } }' },
  setSingleSignOn: {
    by: 'singleSignOn.set',
    document: `mutation { setSingleSignOn(issuer: "", clientId: "", domain: "", required: false,
      roleMapping: { claim: "", rules: [] }) { issuer } }`,
  },
  checkSingleSignOnDomain: {
    by: 'singleSignOn.checkDomain',
    document: 'mutation { checkSingleSignOnDomain { issuer } }',
  },
  removeSingleSignOn: { by: 'singleSignOn.remove', document: 'mutation { removeSingleSignOn }' },
  sessions: { by: 'session.list', document: '{ sessions { id } }' },
  endSession: { by: 'session.end', document: `mutation { endSession(id: "${NOBODY}") }` },
  endOtherSessions: { by: 'session.endOthers', document: 'mutation { endOtherSessions }' },
  confirmSignIn: {
    by: 'session.confirmSignIn',
    document: `mutation { confirmSignIn(alertId: "${NOBODY}") { id } }`,
  },
  accessTokens: { by: 'accessToken.list', document: '{ accessTokens { id } }' },
  createAccessToken: {
    by: 'accessToken.create',
    document: 'mutation { createAccessToken(input: { name: "", permissions: [], expiresAt: "" }) { token } }',
  },
  revokeAccessToken: {
    by: 'accessToken.revoke',
    document: `mutation { revokeAccessToken(id: "${NOBODY}") { id } }`,
  },
  messageUpdated: { by: 'message.watch', document: 'subscription { messageUpdated { id } }' },
  deliveryUpdated: { by: 'delivery.watch', document: 'subscription { deliveryUpdated { id } }' },
  contactImportUpdated: {
    by: 'contact.watchImports',
    document: 'subscription { contactImportUpdated { id } }',
  },
  auditEntryAdded: { by: 'audit.watch', document: 'subscription { auditEntryAdded { id } }' },
  messageUpdates: { by: 'message.watch', document: 'subscription { messageUpdates { __typename } }' },
  deliveryUpdates: { by: 'delivery.watch', document: 'subscription { deliveryUpdates { __typename } }' },
  contactImportUpdates: {
    by: 'contact.watchImports',
    document: 'subscription { contactImportUpdates { __typename } }',
  },
  alertUpdates: { by: 'alert.watch', document: 'subscription { alertUpdates { __typename } }' },
  auditUpdates: { by: 'audit.watch', document: 'subscription { auditUpdates { __typename } }' },
  providerHealthUpdates: {
    by: 'provider.watch',
    document: 'subscription { providerHealthUpdates { __typename } }',
  },
  usageTick: { by: 'usage.watch', document: 'subscription { usageTick { at } }' },
};
/** Starts a subscription, and returns whether it was accepted. */
const ask = (...[gateway, document, options]: Parameters<typeof graphql>): Promise<Answer> =>
  (document.startsWith('subscription') ? askStream : graphql)(gateway, document, options);
/** Fields that everybody may use: sign-in, the caller's own session, and constant lists. */
const OPEN = [
  'requestPasswordReset',
  'resetPassword',
  'acceptInvitation',
  'startInvitationPasskey',
  'acceptInvitationWithPasskey',
  'signIn',
  'answerChallenge',
  'startPasskeySignIn',
  'signInWithPasskey',
  'signInOffers',
  'startSingleSignOn',
  'finishSingleSignOn',
  'stepUp',
  'signOut',
  'scopes',
  'limits',
];

const schema = createSchema();
const rootTypes = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
const rootFields = rootTypes.flatMap((type) => Object.values(type?.getFields() ?? {}));

describe('permissions of GraphQL operations (R235)', () => {
  let gateway: TestGateway;
  let table: Record<string, Role[]>;
  const tokens = new Map<Role, string>();
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    const owner = await signIn(gateway, account);
    tokens.set('OWNER', owner);
    for (const role of ['ADMIN', 'DEVELOPER', 'SUPPORT', 'VIEWER'] as const) {
      tokens.set(role, await signIn(gateway, await inviteMember(gateway, owner, role)));
    }
    tokens.set('OPERATOR', await signInOperator(gateway));
    tokens.set('OPERATOR_READONLY', await signInOperator(gateway, true));
    if (process.env.WRITE_ROLES) await writeFile(TABLE, `${JSON.stringify(computed(), null, 2)}\n`);
    table = JSON.parse(await readFile(TABLE, 'utf8'));
  });
  afterAll(() => gateway?.stop());

  const operations = (): Operation<never, unknown>[] =>
    Object.values(gateway.parts.operations).flatMap((noun) => Object.values(noun));
  const computed = () =>
    Object.fromEntries(
      operations()
        .map((operation) => [
          operation.name,
          ROLES.filter((role) => refusal(operation.access, callerOf(role)) === undefined),
        ])
        .sort(([left], [right]) => String(left).localeCompare(String(right))),
    );

  it('are those in test/contract/operation-roles.json, for every operation (WRITE_ROLES=1 writes it)', () => {
    expect(computed()).toEqual(table);
    const names = operations().map((operation) => operation.name);
    expect(names).toHaveLength(new Set(names).size);
  });

  it('each operation refuses each role that is not in the table, before anything else', async () => {
    for (const operation of operations()) {
      for (const role of ROLES.filter((candidate) => !table[operation.name]?.includes(candidate))) {
        const outcome = await operation
          .run(callerOf(role), undefined as never)
          .catch((error: unknown) => error);
        const what = `${role} ${operation.name}`;
        expect([what, outcome instanceof DomainError && outcome.code]).toEqual([what, 'forbidden']);
      }
    }
  });

  it.each(ROLES)('tell a person who is %s what the table says', async (role) => {
    const answer = await graphql(gateway, '{ permissions }', { token: tokens.get(role) as string });
    const allowed = Object.keys(table).filter((name) => table[name]?.includes(role));
    expect(answer.body).toEqual({ data: { permissions: allowed.sort() } });
  });

  it('every root field of the schema is in the table', () => {
    expect([...Object.keys(ASKED), ...OPEN].sort()).toEqual(rootFields.map((field) => field.name).sort());
  });

  it.each(Object.entries(ASKED))(
    '%s works for every role, but not without a session',
    async (_, { by, document }) => {
      const codes: Record<string, string> = {};
      for (const role of ROLES) {
        const answer = await ask(gateway, document, { token: tokens.get(role) as string });
        codes[role] = codesOf(answer)[0] === 'FORBIDDEN' ? 'refused' : 'let in';
        expect(codesOf(answer)).not.toContain('INTERNAL_SERVER_ERROR');
      }
      expect(codes).toEqual(
        Object.fromEntries(ROLES.map((role) => [role, table[by]?.includes(role) ? 'let in' : 'refused'])),
      );
      expect(codesOf(await ask(gateway, document))).toEqual(['UNAUTHENTICATED']);
    },
  );

  it('a DEVELOPER manages the keys they made, and none with FULL_ACCESS', async () => {
    const developer = { token: tokens.get('DEVELOPER') as string };
    const create = (scope: string) =>
      graphql(
        gateway,
        `mutation { createApiKey(input: { name: "k", scopes: [${scope}], environment: SANDBOX }) { apiKey { keyId createdBy } } }`,
        developer,
      );
    expect(codesOf(await create('FULL_ACCESS'))).toEqual(['FORBIDDEN']);
    const { keyId, createdBy } = (await create('SEND_SMS')).body.data.createApiKey.apiKey;
    expect(createdBy).toMatch(/^user:/);
    const revoke = (id: string) =>
      graphql(gateway, 'mutation ($id: ID!) { revokeApiKey(keyId: $id) { revokedAt } }', {
        ...developer,
        variables: { id },
      });
    expect(codesOf(await revoke(keyId))).toEqual([]);
    const foreign = await gateway.createKey(account.accountId, {});
    expect(codesOf(await revoke(foreign.keyId))).toEqual(['FORBIDDEN']);
  });
});

describe('a person with the role SUPPORT (R235, R238)', () => {
  const SENT = 'id channel environment purpose from to content payload cost status recipients { to status }';
  const RESEND = `mutation ($id: ID!, $onlyFailed: Boolean!, $key: String) {
    resendMessage(id: $id, onlyFailed: $onlyFailed, idempotencyKey: $key) { ${SENT} } }`;
  let gateway: TestGateway;
  let account: TestAccount;
  let owner: string;
  let support: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    owner = await signIn(gateway, account);
    support = await signIn(gateway, await inviteMember(gateway, owner, 'SUPPORT'));
  });
  afterAll(() => gateway?.stop());

  const call = async (query: string, variables: object = {}, token = owner) => {
    const answer = await graphql(gateway, query, { token, variables });
    expect(codesOf(answer)).toEqual([]);
    const [value] = Object.values(answer.body.data);
    return value as Answer['body'];
  };
  const resend = (id: string, { all = false, key }: { all?: boolean; key?: string } = {}, token = support) =>
    graphql(gateway, RESEND, { token, variables: { id, onlyFailed: !all, key } });
  const shown = (id: string) => call(`query ($id: ID!) { message(id: $id) { ${SENT} } }`, { id });
  const balance = async () => (await call('{ account { balance } }')).balance as number;
  const bulkOf = async (id: string) => gateway.parts.stores.messages.bulk(id);
  const faultOf = (answer: Answer) => answer.body.errors?.[0]?.extensions?.details?.fields?.[0]?.message;

  it('sends an SMS again to the recipients that failed, as it was, and once for an idempotency key', async () => {
    const send = `mutation { sendSms(input: { to: "+256700120001,+256700123456", message: "It is ready", from: "SHOP",
      purpose: MARKETING }) { id } }`;
    const { id } = await call(send);
    const before = await eventually(async () => {
      const message = await shown(id);
      return message.recipients.every(({ status }: { status: string }) => /FAILED|DELIVERED/.test(status))
        ? message
        : undefined;
    });
    const money = await balance();
    const again = (await resend(id, { key: 'once' })).body.data.resendMessage;
    expect(again).toMatchObject({
      ...{ channel: 'SMS', environment: 'PRODUCTION', purpose: 'MARKETING', from: 'SHOP' },
      ...{ content: before.content, to: ['+256700120001'], cost: before.cost / 2 },
    });
    expect(again.id).not.toBe(id);
    expect((await resend(id, { key: 'once' })).body.data.resendMessage.id).toBe(again.id);
    await eventually(async () => (await shown(again.id)).status === 'FAILED');
    // The failed one is refunded, as any other.
    await eventually(async () => (await balance()) === money);
    const all = (await resend(id, { all: true })).body.data.resendMessage;
    expect(all.to).toEqual(['+256700120001', '+256700123456']);
    await call(
      'mutation ($a: String!) { suppress(input: { channel: SMS, address: $a, scope: ALL }) { id } }',
      {
        a: '+256700120001',
      },
    );
    expect(codesOf(await resend(id))).toEqual(['ALL_RECIPIENTS_SUPPRESSED']);
  });

  it('sends an email again with its HTML, files and headers, and a WhatsApp template', async () => {
    const email =
      await call(`mutation { sendEmail(input: { to: "ann@shop.example,bob@shop.example", subject: "Bill",
      text: "See below", html: "<p>See below</p>", replyTo: "desk@shop.example", cc: "boss@shop.example",
      headers: { Priority: "urgent" }, purpose: MARKETING, attachments: [{ filename: "bill.pdf", content: "YWJj", contentType: "application/pdf" }],
      environment: SANDBOX }) { id } }`);
    const sent = (await resend(email.id, { all: true })).body.data.resendMessage;
    const { id: _first, ...original } = await shown(email.id);
    const { id, ...same } = sent;
    expect(same).toEqual(original);
    expect(await bulkOf(id)).toEqual(await bulkOf(email.id));
    const template = await call(`mutation { sendWhatsApp(input: { to: "+256700123456", type: TEMPLATE,
      template: { name: "order_ready", language: "en" }, environment: SANDBOX }) { id } }`);
    const { id: _again, ...twin } = (await resend(template.id, { all: true })).body.data.resendMessage;
    const { id: _template, ...model } = await shown(template.id);
    expect(twin).toEqual(model);
  });

  it('sends nothing where nobody failed, nothing that is gone, and no push message', async () => {
    const { id } = await call(
      'mutation { sendSms(input: { to: "+256700123456", message: "x", environment: SANDBOX }) { id } }',
    );
    expect(faultOf(await resend(id))).toBe('has no recipient that failed');
    const later = new Date(Date.now() + 3_600_000).toISOString();
    const waiting = await call(
      'mutation ($at: DateTime!) { sendSms(input: { to: "+256700123456", message: "x", scheduledFor: $at }) { id } }',
      { at: later },
    );
    expect(faultOf(await resend(waiting.id, { all: true }))).toBe('is pending still');
    const kept = (await resend(id, { all: true, key: 'kept' })).body.data.resendMessage;
    await withKnex(gateway.database.connection, (knex) =>
      knex('messages').where({ id }).update({ content: '' }),
    );
    expect(faultOf(await resend(id, { all: true }))).toBe('is of a message whose content was erased');
    // A repeat gets the first answer, although the message could not be sent again now (R19).
    expect((await resend(id, { all: true, key: 'kept' })).body.data.resendMessage.id).toBe(kept.id);
    await call(
      'mutation { registerDevice(input: { token: "t", platform: ANDROID, userId: "u", environment: SANDBOX }) { id } }',
    );
    const push = await call(
      'mutation { sendPush(input: { to: "u", title: "t", body: "b", environment: SANDBOX }) { id } }',
    );
    expect(faultOf(await resend(push.id, { all: true }))).toBe(
      'is a push message, which cannot be sent again',
    );
    expect(faultOf(await resend(id, { key: '' }))).toBe('must have 1 to 64 characters');
  });

  it('sends nothing new, cancels nothing and makes no keys; a VIEWER does not send again either', async () => {
    const scheduled = await call(
      'mutation ($at: DateTime!) { sendSms(input: { to: "+256700123456", message: "x", scheduledFor: $at }) { id } }',
      { at: new Date(Date.now() + 3_600_000).toISOString() },
    );
    for (const query of [
      'mutation { sendSms(input: { to: "+256700123456", message: "x" }) { id } }',
      'mutation { sendEmail(input: { to: "a@b.example", subject: "x", text: "x" }) { id } }',
      'mutation { sendPush(input: { to: "u", title: "t", body: "b" }) { id } }',
      'mutation { sendWhatsApp(input: { to: "+256700123456", type: TEXT, text: { body: "x" } }) { id } }',
      'mutation { createApiKey(input: { name: "k", scopes: [SEND_SMS], environment: SANDBOX }) { key } }',
      `mutation { cancelMessage(id: "${scheduled.id}") { id } }`,
    ])
      expect(codesOf(await graphql(gateway, query, { token: support }))).toEqual(['FORBIDDEN']);
    const viewer = await signIn(gateway, await inviteMember(gateway, owner, 'VIEWER'));
    expect(codesOf(await resend(scheduled.id, {}, viewer))).toEqual(['FORBIDDEN']);
    expect(
      codesOf(await graphql(gateway, '{ webhookDeliveries { totalCount } }', { token: support })),
    ).toEqual([]);
  });
});

describe('accounts cannot see each other (R224)', () => {
  let gateway: TestGateway;
  let token: string;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>> | undefined;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    gateway = await startTestGateway({ TRUST_PROXY: '127.0.0.0/8,::1/128', COUNTRY_HEADER: 'CF-IPCountry' });
    const [mine, theirs] = [await gateway.createAccount(), await gateway.createAccount()];
    token = await signIn(gateway, mine);
    for (const country of ['KE', 'FR']) await signIn(gateway, theirs, { 'CF-IPCountry': country });
    const other = await signIn(gateway, theirs);
    receiver = await startWebhookReceiver();
    const { url } = receiver;
    const ask = async (query: string, variables: object = {}) =>
      (await graphql(gateway, query, { token: other, variables })).body.data;
    ids.account = theirs.accountId;
    ids.session = (await ask('{ sessions { id } }')).sessions[0].id;
    ids.alert = (await ask('{ alerts { nodes { id } } }')).alerts.nodes[0].id;
    const create = `mutation ($at: String!) {
      createAccessToken(input: { name: "t", permissions: ["member.list"], expiresAt: $at }) { accessToken { id } } }`;
    const at = new Date(Date.now() + 3_600_000).toISOString();
    ids.accessToken = (await ask(create, { at })).createAccessToken.accessToken.id;
    const { secret } = (await ask('mutation { startTotp { secret } }')).startTotp;
    await ask('mutation ($code: String!) { confirmTotp(code: $code) { recoveryCodes } }', {
      code: generateSync({ secret }),
    });
    ids.factor = (await ask('{ factors { id } }')).factors[0].id;
    ids.user = (await inviteMember(gateway, other, 'VIEWER')).id;
    const { key, keyId } = await gateway.createKey(theirs.accountId, {});
    ids.key = keyId;
    await gateway.call('GET', '/account', { key });
    const register = `mutation ($url: String!) {
      registerWebhook(input: { url: $url, events: ["sms.sent"] }) { webhook { id } } }`;
    ids.webhook = (await ask(register, { url })).registerWebhook.webhook.id;
    ids.contact = (
      await ask('mutation { createContact(input: { externalId: "x" }) { id } }')
    ).createContact.id;
    const imported = 'mutation { importContacts(csv: "phone\\nx") { id } }';
    ids.import = (await ask(imported)).importContacts.id;
    const device =
      'mutation { registerDevice(input: { token: "t0k3n", platform: ANDROID, userId: "u", environment: SANDBOX }) { id } }';
    ids.device = (await ask(device)).registerDevice.id;
    const suppressed =
      'mutation { suppress(input: { channel: SMS, address: "+256700000009", scope: ALL }) { id } }';
    ids.suppression = (await ask(suppressed)).suppress.id;
    const domain = 'mutation { requestSender(input: { channel: EMAIL, domain: "own.example" }) { id } }';
    ids.sender = (await ask(domain)).requestSender.id;
    ids.erasure = (
      await ask('mutation { eraseRecipient(address: "+256700000999", reason: "x") { id } }')
    ).eraseRecipient.id;
    const send = 'mutation { sendSms(input: { to: "+256700123456", message: "secret" }) { id } }';
    ids.message = (await ask(send)).sendSms.id;
    ids.delivery = await eventually(async () => {
      const found = await ask('query ($id: ID!) { message(id: $id) { deliveries { id } } }', {
        id: ids.message,
      });
      return found.message.deliveries[0]?.id as string | undefined;
    });
    ids.request = await eventually(
      async () => (await ask('{ requests { nodes { id } } }')).requests.nodes[0]?.id as string | undefined,
    );
  });
  afterAll(async () => {
    await gateway?.stop();
    await receiver?.stop();
  });

  /** For each argument: a document in which the argument names an object of another account. */
  const FOREIGN: Record<string, () => string> = {
    'account.id': () => `{ account(id: "${ids.account}") { id } }`,
    'setRetention.accountId': () =>
      `mutation { setRetention(accountId: "${ids.account}", contentDays: 1) { contentDays } }`,
    'alerts.filter.accountId': () => `{ alerts(filter: { accountId: "${ids.account}" }) { nodes { id } } }`,
    'alertRules.accountId': () => `{ alertRules(accountId: "${ids.account}") { kind } }`,
    'setAlertRule.input.accountId': () =>
      `mutation { setAlertRule(input: { accountId: "${ids.account}", kind: LIMIT_NEAR }) { kind } }`,
    'heldBlocks.accountId': () => `{ heldBlocks(accountId: "${ids.account}") { block } }`,
    'reviewHeld.accountId': () =>
      `mutation { reviewHeld(accountId: "${ids.account}", block: "+256770001", decision: REJECT) { left } }`,
    'sendLimits.accountId': () => `{ sendLimits(accountId: "${ids.account}") { keyId } }`,
    'setKeyLimits.keyId': () => `mutation { setKeyLimits(keyId: "${ids.key}", input: {}) { keyId } }`,
    'setAccountLimits.accountId': () =>
      `mutation { setAccountLimits(accountId: "${ids.account}", input: {}) { keyId } }`,
    'createApiKey.input.accountId': () =>
      `mutation { createApiKey(input: { accountId: "${ids.account}", name: "k", scopes: [SEND_SMS], environment: SANDBOX }) { key } }`,
    'message.id': () => `{ message(id: "${ids.message}") { content } }`,
    'resendMessage.id': () => `mutation { resendMessage(id: "${ids.message}") { content } }`,
    'explainMessage.id': () => `{ explainMessage(id: "${ids.message}") { summary } }`,
    'request.id': () => `{ request(id: "${ids.request}") { path } }`,
    'apiKey.id': () => `{ apiKey(id: "${ids.key}") { name } }`,
    'webhook.id': () => `{ webhook(id: "${ids.webhook}") { url } }`,
    'webhookDelivery.id': () => `{ webhookDelivery(id: "${ids.delivery}") { payload } }`,
    'contactImport.id': () => `{ contactImport(id: "${ids.import}") { state } }`,
    'device.id': () => `{ device(id: "${ids.device}") { userId } }`,
    'contact.id': () => `{ contact(id: "${ids.contact}") { name } }`,
    'setMemberRole.userId': () => `mutation { setMemberRole(userId: "${ids.user}", role: OWNER) { email } }`,
    'removeMember.userId': () => `mutation { removeMember(userId: "${ids.user}") }`,
    'dismissMember.userId': () => `mutation { dismissMember(userId: "${ids.user}") { email } }`,
    'resetFactors.userId': () => `mutation { resetFactors(userId: "${ids.user}") { email } }`,
    'removeFactor.id': () => `mutation { removeFactor(id: "${ids.factor}") }`,
    'endSession.id': () => `mutation { endSession(id: "${ids.session}") }`,
    'confirmSignIn.alertId': () => `mutation { confirmSignIn(alertId: "${ids.alert}") { id } }`,
    'revokeAccessToken.id': () => `mutation { revokeAccessToken(id: "${ids.accessToken}") { name } }`,
    'updateApiKey.keyId': () =>
      `mutation { updateApiKey(keyId: "${ids.key}", input: { name: "x" }) { keyId } }`,
    'rotateApiKey.keyId': () => `mutation { rotateApiKey(keyId: "${ids.key}") { key } }`,
    'revokeApiKey.keyId': () => `mutation { revokeApiKey(keyId: "${ids.key}") { keyId } }`,
    'updateWebhook.id': () =>
      `mutation { updateWebhook(id: "${ids.webhook}", input: { isActive: false }) { id } }`,
    'deleteWebhook.id': () => `mutation { deleteWebhook(id: "${ids.webhook}") }`,
    'rotateWebhookSecret.id': () => `mutation { rotateWebhookSecret(id: "${ids.webhook}") { secret } }`,
    'sendTestEvent.webhookId': () => `mutation { sendTestEvent(webhookId: "${ids.webhook}") { id } }`,
    'redeliver.deliveryId': () => `mutation { redeliver(deliveryId: "${ids.delivery}") { id } }`,
    'redeliverMany.webhookId': () =>
      `mutation { redeliverMany(webhookId: "${ids.webhook}", deliveryIds: ["${ids.delivery}"]) { queued } }`,
    'redeliverFailed.webhookId': () =>
      `mutation { redeliverFailed(webhookId: "${ids.webhook}", since: "2026-01-01T00:00:00Z") { queued } }`,
    'cancelMessage.id': () => `mutation { cancelMessage(id: "${ids.message}") { id } }`,
    'updateContact.id': () => `mutation { updateContact(id: "${ids.contact}", input: { name: "x" }) { id } }`,
    'removeSuppression.id': () => `mutation { removeSuppression(id: "${ids.suppression}") }`,
    'erasure.id': () => `{ erasure(id: "${ids.erasure}") { id } }`,
    'sender.id': () => `{ sender(id: "${ids.sender}") { id } }`,
    'verifySender.id': () => `mutation { verifySender(id: "${ids.sender}") { id } }`,
    'removeSender.id': () => `mutation { removeSender(id: "${ids.sender}") }`,
    'removeDevice.id': () => `mutation { removeDevice(id: "${ids.device}") }`,
    'deleteContact.id': () => `mutation { deleteContact(id: "${ids.contact}") }`,
    'messageUpdated.id': () => `subscription { messageUpdated(id: "${ids.message}") { content } }`,
    'contactImportUpdated.id': () => `subscription { contactImportUpdated(id: "${ids.import}") { state } }`,
    'messageUpdates.id': () => `subscription { messageUpdates(id: "${ids.message}") { __typename } }`,
    'contactImportUpdates.id': () =>
      `subscription { contactImportUpdates(id: "${ids.import}") { __typename } }`,
    'deliveryUpdates.webhookId': () =>
      `subscription { deliveryUpdates(webhookId: "${ids.webhook}") { __typename } }`,
    'deliveryUpdated.webhookId': () => `subscription { deliveryUpdated(webhookId: "${ids.webhook}") { id } }`,
  };
  /** Filters by an object of another account. They must find nothing. */
  const FILTERS: Record<string, () => string> = {
    'messages.filter.apiKeyId': () =>
      `{ messages(filter: { apiKeyId: "${ids.key}" }) { nodes { id } totalCount } }`,
    'requests.filter.apiKeyId': () =>
      `{ requests(filter: { apiKeyId: "${ids.key}" }) { nodes { id } totalCount } }`,
    'recipients.filter.apiKeyId': () =>
      `{ recipients(filter: { apiKeyId: "${ids.key}" }) { nodes { to } totalCount } }`,
    'senders.accountId': () => `{ senders(accountId: "${ids.account}") { nodes { id } totalCount } }`,
    'webhookDeliveries.filter.webhookId': () =>
      `{ webhookDeliveries(filter: { webhookId: "${ids.webhook}" }) { nodes { id } totalCount } }`,
    'webhookDeliveries.filter.messageId': () =>
      `{ webhookDeliveries(filter: { messageId: "${ids.message}" }) { nodes { id } totalCount } }`,
  };
  /** These arguments accept the id of any object. A test of its own passes each foreign id, and must find none. */
  const NODES = ['node.id', 'nodes.ids'];
  /** graphql-subscriptions.test.ts tests this filter. */
  const WATCHED = ['messageUpdated.filter.apiKeyId', 'messageUpdates.filter.apiKeyId'];
  /** graphql-keys.test.ts and webhook-selection.test.ts test these: each item is refused by itself. */
  const EACH = ['updateApiKeys.keyIds', 'redeliverMany.deliveryIds'];
  /** `sendPush` treats a device of another account like a device that does not exist. */
  const TARGETS = 'sendPush.input.deviceIds';
  /** Arguments of fields that only operators may use. Operators belong to no account. */
  const ABOVE = [
    'topUpAccount.accountId',
    'setAccountPlan.accountId',
    'reviewSender.id',
    'setSenderRegistrations.id',
    'assignWhatsAppNumber.accountId',
    'removeWhatsAppNumber.accountId',
    'setRateLimit.keyId',
    'resetUserPassword.accountId',
    'requestOperatorReset.userId',
    'confirmOperatorReset.id',
    'refuseOperatorReset.id',
  ];

  it('every argument that takes an id is tried', () => {
    const places = (at: string, argument: GraphQLArgument | GraphQLInputField): string[] => {
      const type = getNamedType(argument.type);
      const path = `${at}.${argument.name}`;
      if (isInputObjectType(type))
        return Object.values(type.getFields()).flatMap((field) => places(path, field));
      return type.name === 'ID' ? [path] : [];
    };
    const all = rootFields.flatMap((field) => field.args.flatMap((argument) => places(field.name, argument)));
    const tried = [
      ...Object.keys(FOREIGN),
      ...Object.keys(FILTERS),
      ...ABOVE,
      ...NODES,
      TARGETS,
      ...WATCHED,
      ...EACH,
    ];
    expect(tried.sort()).toEqual(all.sort());
  });

  it.each(Object.entries(FOREIGN))('%s of another account is NOT_FOUND', async (_, document) => {
    const answer = await ask(gateway, document(), { token });
    expect(codesOf(answer)).toEqual(['NOT_FOUND']);
    expect(Object.values(answer.body.data ?? { none: null })).toEqual([null]);
  });

  it.each(Object.entries(FILTERS))('%s of another account finds nothing', async (_, document) => {
    const answer = await graphql(gateway, document(), { token });
    expect(answer.body.errors).toBeUndefined();
    expect(Object.values(answer.body.data)).toEqual([{ nodes: [], totalCount: 0 }]);
  });

  it('objects of another account are no nodes', async () => {
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const answer = await graphql(gateway, query, { token, variables: { ids: Object.values(ids) } });
    expect(new Set(answer.body.data.nodes)).toEqual(new Set([null]));
  });

  it('devices of another account get no push', async () => {
    const push = `mutation { sendPush(input: { deviceIds: ["${ids.device}"], title: "t", body: "b", environment: SANDBOX }) { id } }`;
    expect(codesOf(await graphql(gateway, push, { token }))).toEqual(['NO_TARGET_DEVICES']);
  });
});
