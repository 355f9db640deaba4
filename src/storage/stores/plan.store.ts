import type { Plan } from '../../domain/accounts/account.ts';
import type { PlanStore } from '../../domain/ports/account-stores.ts';
import type { Sql } from '../postgres/sql.ts';

interface PlanRow {
  id: string;
  name: string;
  per_minute: number;
  per_second: number;
  webhooks_per_minute: number;
  session_per_minute: number | null;
}

const COLUMNS = [
  'id',
  'name',
  'per_minute',
  'per_second',
  'webhooks_per_minute',
  'session_per_minute',
] as const;

function mapRow(row: PlanRow): Plan {
  return {
    name: row.name,
    perMinute: row.per_minute,
    perSecond: row.per_second,
    webhooksPerMinute: row.webhooks_per_minute,
    sessionPerMinute: row.session_per_minute,
  };
}

/** Stores plans, and which accounts have them (R12). */
export class PgPlanStore implements PlanStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async all(): Promise<readonly Plan[]> {
    const rows: PlanRow[] = await this.#sql
      .table('plans')
      .orderBy('name')
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  async set(id: string, plan: Plan, at: Date): Promise<Plan | undefined> {
    const before = await this.#lock(plan.name);
    await this.#sql
      .table('plans')
      .insert({
        id,
        name: plan.name,
        per_minute: plan.perMinute,
        per_second: plan.perSecond,
        webhooks_per_minute: plan.webhooksPerMinute,
        session_per_minute: plan.sessionPerMinute,
        created_at: at,
      })
      .onConflict('name')
      .merge(['per_minute', 'per_second', 'webhooks_per_minute', 'session_per_minute']);
    return before && mapRow(before);
  }

  async assign(accountId: string, name: string | null): Promise<boolean> {
    const plan = name === null ? undefined : await this.#lock(name);
    if (name !== null && !plan) return false;
    await this.#sql
      .table('accounts')
      .where({ id: accountId })
      .update({ plan_id: plan?.id ?? null });
    return true;
  }

  async #lock(name: string): Promise<PlanRow | undefined> {
    return this.#sql
      .table<PlanRow>('plans')
      .where({ name })
      .forNoKeyUpdate()
      .first(...COLUMNS);
  }
}
