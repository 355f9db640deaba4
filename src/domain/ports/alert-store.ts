import type { Alert, AlertKind, AlertRuleChange, AlertState, Finding } from '../alerts/alert.ts';
import type { EndingKey, Outcomes, RejectedSender, Spend, WebhookTrouble } from '../alerts/find-alerts.ts';
import type { LimitUse } from '../limits/send-limits.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';
import type { Span } from './analytics-store.ts';

/** Whose alerts: those of an account, or those of the operators if it is null. */
export type AlertOwner = string | null;

export interface AlertFilter {
  readonly state?: AlertState | undefined;
  readonly kind?: AlertKind | undefined;
  /** Kinds that are left out. */
  readonly without?: readonly AlertKind[] | undefined;
}

/** Stores alerts and their rules (R480). */
export interface AlertStore {
  /** Returns what these owners changed of their rules. */
  ruleChanges(owners: readonly AlertOwner[]): Promise<readonly AlertRuleChange[]>;
  /** Waits until no other transaction changes rules, and holds them until the transaction ends. */
  lockRules(): Promise<void>;
  setRule(change: AlertRuleChange, at: Date): Promise<void>;
  /** Returns the open alerts of these owners. */
  open(owners: readonly AlertOwner[]): Promise<readonly OpenedAlert[]>;
  /** Opens alerts. Leaves out a finding whose cause has an open alert. Returns the opened ones. */
  insert(findings: readonly (Finding & { readonly id: string })[], at: Date): Promise<readonly OpenedAlert[]>;
  /** Returns the alerts among these about whose causes no mail was sent since `since`. */
  unmailedSince(ids: readonly string[], since: Date): Promise<ReadonlySet<string>>;
  /** Notes that people get mails about the opening of these alerts. */
  noteMailed(ids: readonly string[], at: Date): Promise<void>;
  /** Resolves open alerts. Returns those that were open. */
  resolve(ids: readonly string[], at: Date): Promise<readonly OpenedAlert[]>;
  find(id: string): Promise<Alert | undefined>;
  findMany(owner: AlertOwner, ids: readonly string[]): Promise<readonly Alert[]>;
  /** Returns a page of an owner's alerts, newest first. */
  page(owner: AlertOwner, filter: AlertFilter, request: PageRequest): Promise<Page<Alert>>;
  slice(owner: AlertOwner, filter: AlertFilter, range: KeyRange): Promise<readonly Alert[]>;
  count(owner: AlertOwner, filter: AlertFilter): Promise<number>;
  /** Deletes up to `limit` alerts that were resolved before `before`. Returns the number of deleted alerts. */
  forget(before: Date, limit: number): Promise<number>;
}

export interface OpenedAlert extends Alert {
  /** True if people got a mail about its opening. */
  readonly isMailed: boolean;
}

/** Reads the facts that the rules of alerts look at. Each query takes a bounded number of accounts. */
export interface AlertFactStore {
  /** Returns the ids of up to `limit` accounts after `afterId`, in order of id. */
  accountsAfter(afterId: string, limit: number): Promise<readonly string[]>;
  /** Returns balances, and the spend of the day and the week before `now`. */
  spend(accountIds: readonly string[], now: Date): Promise<readonly Spend[]>;
  limits(accountIds: readonly string[]): Promise<readonly LimitUse[]>;
  /** Returns the webhooks of production that are failing, and those that the gateway has switched off. */
  webhooks(accountIds: readonly string[]): Promise<readonly WebhookTrouble[]>;
  /** Returns outcomes of production in a span of whole quarter hours, or of whole days if `byDay`. */
  outcomes(accountIds: readonly string[], span: Span, byDay: boolean): Promise<readonly Outcomes[]>;
  /** Returns the keys that expire after `now` and before `before`, and that no other key replaces. */
  endingKeys(accountIds: readonly string[], now: Date, before: Date): Promise<readonly EndingKey[]>;
  /** Returns the rejected senders of production. */
  rejectedSenders(accountIds: readonly string[]): Promise<readonly RejectedSender[]>;
}
