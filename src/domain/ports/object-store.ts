/** The kinds of objects that have an id of their own. */
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
] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** Finds out what ids belong to. */
export interface ObjectStore {
  /** The kinds of those objects that are the account's, by id. Deleted webhooks are left out. */
  kinds(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, ObjectKind>>;
}
