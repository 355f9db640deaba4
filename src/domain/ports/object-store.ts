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

/** What people call an object. `isUrl` is true for the URL of a webhook, which may hold secrets (R212). */
export interface ObjectName {
  readonly id: string;
  readonly name: string;
  readonly isUrl: boolean;
}

/** Finds the kind or the name of the object that an id belongs to. */
export interface ObjectStore {
  /** Returns, by id, the kinds of the objects that belong to the account. Deleted webhooks are left out. */
  kinds(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, ObjectKind>>;
  /**
   * Returns the names of accounts, API keys and senders, the email addresses of people and the URLs of webhooks. Also
   * of removed people, ended keys and deleted webhooks. If an account is given, it leaves out objects of other accounts.
   */
  names(accountId: string | undefined, ids: readonly string[]): Promise<readonly ObjectName[]>;
}
