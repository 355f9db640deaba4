import type { Account } from '../accounts/account.ts';
import { shownDeliveries, shownMessages } from '../accounts/inspection.ts';
import type { User } from '../accounts/user.ts';
import type { ApiKey } from '../api-keys/api-key.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import { withMaskedUrls } from '../audit/audit-operations.ts';
import { ACCOUNT_ROLES, accountIdOf, type Caller, refusal, visibilityOf } from '../caller.ts';
import type { Contact } from '../contacts/contact.ts';
import type { ContactImport } from '../contacts/contact-import.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Device } from '../devices/device.ts';
import { validationError } from '../errors.ts';
import type { Message } from '../messages/message.ts';
import { operation } from '../operation.ts';
import { SLICE_MAX } from '../paging.ts';
import type { ObjectKind } from '../ports/object-store.ts';
import type { ApiRequest } from '../requests/api-request.ts';
import { READ_REQUESTS } from '../requests/request-operations.ts';
import { isUuid } from '../uuid.ts';
import type { Webhook, WebhookDelivery } from '../webhooks/webhook.ts';
import { shownWebhook } from '../webhooks/webhook-operations.ts';

interface ObjectsByKind {
  account: Account;
  user: User;
  apiKey: ApiKey;
  message: Message;
  webhook: Webhook;
  delivery: WebhookDelivery;
  contact: Contact;
  contactImport: ContactImport;
  device: Device;
  auditEntry: AuditEntry;
  request: ApiRequest;
}
/** An object with its kind. */
export type FoundObject = {
  [Kind in ObjectKind]: { readonly kind: Kind; readonly object: ObjectsByKind[Kind] };
}[ObjectKind];

/** Finds objects of any kind by their ids. */
export function objectOperations({ stores }: Pick<Dependencies, 'stores'>) {
  const readers: {
    [Kind in ObjectKind]: (caller: Caller, ids: readonly string[]) => Promise<readonly ObjectsByKind[Kind][]>;
  } = {
    async account(caller, ids) {
      return (await stores.accounts.findMany(ids)).filter(({ id }) => mayReach(caller, id));
    },
    user: (caller, ids) => stores.users.findMany(ids, accountIdOf(caller)),
    apiKey: (caller, ids) => stores.apiKeys.findMany(accountIdOf(caller), ids),
    message: async (caller, ids) =>
      shownMessages(caller, await stores.messageLists.findMany(accountIdOf(caller), ids)),
    async webhook(caller, ids) {
      const found = await stores.webhooks.findMany(visibilityOf(caller), ids);
      return found.map((webhook) => shownWebhook(caller, webhook));
    },
    delivery: async (caller, ids) =>
      shownDeliveries(caller, await stores.deliveryLists.findMany(accountIdOf(caller), ids, undefined)),
    contact: (caller, ids) => stores.contacts.findMany(visibilityOf(caller), ids),
    contactImport: (caller, ids) => stores.contactImports.findMany(visibilityOf(caller), ids),
    device: (caller, ids) => stores.devices.findVisible(visibilityOf(caller), ids),
    async auditEntry(caller, ids) {
      return (await stores.audit.findMany(accountIdOf(caller), ids)).map(withMaskedUrls);
    },
    request: async (caller, ids) =>
      refusal(READ_REQUESTS, caller) ? [] : stores.requests.findMany(accountIdOf(caller), ids),
  };
  const read = async <Kind extends ObjectKind>(caller: Caller, kind: Kind, ids: readonly string[]) =>
    (await readers[kind](caller, ids)).map((object) => ({ kind, object }) as unknown as FoundObject);

  return {
    /**
     * Returns the objects with these ids, keyed by id in lower case. Leaves out objects of other accounts and unknown
     * ids. An operator has no account and finds only accounts. Throws `validation_error` for more than 100 ids.
     */
    find: operation(
      'object.find',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (
        caller,
        input: { readonly ids: readonly string[] },
      ): Promise<ReadonlyMap<string, FoundObject>> => {
        const ids = [...new Set(input.ids.map((id) => id.toLowerCase()))];
        if (ids.length > SLICE_MAX) {
          throw validationError([{ path: 'ids', message: `must name at most ${SLICE_MAX} objects` }]);
        }
        const kinds =
          caller.kind === 'operator'
            ? new Map(ids.filter(isUuid).map((id) => [id, 'account' as const]))
            : await stores.objects.kinds(accountIdOf(caller), ids);
        const idsByKind = Map.groupBy(kinds.keys(), (id) => kinds.get(id) as ObjectKind);
        const found = await Promise.all([...idsByKind].map(([kind, own]) => read(caller, kind, own)));
        return new Map(found.flat().map((one) => [idOf(one), one]));
      },
    ),
  };
}

function mayReach(caller: Caller, accountId: string): boolean {
  return caller.kind === 'operator' || accountIdOf(caller) === accountId;
}

/** Returns the id of an object. For an API key this is its `keyId`. */
export function idOf({ kind, object }: FoundObject): string {
  return kind === 'apiKey' ? object.keyId : object.id;
}
