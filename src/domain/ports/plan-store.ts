import type { Plan } from '../accounts/account.ts';

export interface PlanStore {
  /** By name. */
  all(): Promise<readonly Plan[]>;
  /** Creates the plan of that name or changes it; returns what it was before, undefined for a new one. */
  set(id: string, plan: Plan, at: Date): Promise<Plan | undefined>;
  /** Puts an account on a plan, null for none; false when there is no plan of that name. The account is there. */
  assign(accountId: string, name: string | null): Promise<boolean>;
}
