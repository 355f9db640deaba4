/**
 * The record of one change: who made it, when, to what, and the values before and after. It is written in the
 * transaction of the change.
 */
export interface AuditEntry {
  readonly id: string;
  readonly accountId: string | null;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

/** The kinds of things that an entry can be about. The part of `action` before the dot decides the kind. */
export const AUDIT_TARGET_KINDS = [
  'account',
  'api_key',
  'webhook',
  'user',
  'plan',
  'price',
  'gateway',
] as const;
export type AuditTargetKind = (typeof AUDIT_TARGET_KINDS)[number];

const KIND_BY_NOUN: Readonly<Record<string, AuditTargetKind>> = {
  account: 'account',
  apiKey: 'api_key',
  webhook: 'webhook',
  member: 'user',
  operator: 'user',
  operatorReset: 'user',
  secondFactor: 'user',
  session: 'user',
  plan: 'plan',
  price: 'price',
  recovery: 'gateway',
};

/** Returns the kind of thing that an entry changed. Actions with an unknown first part count as `gateway`. */
export function targetKindOf({ action }: Pick<AuditEntry, 'action'>): AuditTargetKind {
  return KIND_BY_NOUN[action.slice(0, action.indexOf('.'))] ?? 'gateway';
}
