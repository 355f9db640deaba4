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
