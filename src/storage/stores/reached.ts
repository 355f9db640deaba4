import type { Environment, Visibility } from '../../domain/caller.ts';

/** The conditions that keep a query within a visibility, for the builder's `where`. */
export function whereVisible({ accountId, environment }: Visibility): {
  account_id: string;
  environment?: Environment;
} {
  return environment === undefined ? { account_id: accountId } : { account_id: accountId, environment };
}
