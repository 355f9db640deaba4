/** The kinds of objects that have an id. */
export const OBJECT_KINDS = [
  'account',
  'user',
  'apiKey',
  'message',
  'webhook',
  'delivery',
  'contact',
  'contactImport',
  'device',
  'auditEntry',
  'request',
] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** Finds the kind of the object that an id belongs to. */
export interface ObjectStore {
  /** Returns, by id, the kinds of the objects that belong to the account. Deleted webhooks are left out. */
  kinds(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, ObjectKind>>;
}
