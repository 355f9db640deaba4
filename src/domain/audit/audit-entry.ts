/** A change: who, what, before and after. Written in the transaction of the change. */
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

/** What entries are about. The first part of an action says which of them. */
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
  secondFactor: 'user',
  session: 'user',
  plan: 'plan',
  price: 'price',
  recovery: 'gateway',
};

/** The kind of an entry's target. */
export function targetKindOf({ action }: Pick<AuditEntry, 'action'>): AuditTargetKind {
  return KIND_BY_NOUN[action.slice(0, action.indexOf('.'))] ?? 'gateway';
}
