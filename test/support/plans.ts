import pg from 'pg';

/** What PostgreSQL did to execute one statement of the gateway. */
export interface ExecutedPlan {
  readonly text: string;
  readonly returned: number;
  /**
   * Number of rows that were read from each table. It includes rows that a filter dropped, and the rows of every loop.
   */
  readonly touched: ReadonlyMap<string, number>;
  /** Number of pages (8 kB) that were read. */
  readonly buffers: number;
  readonly ms: number;
}

interface PlanNode {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Statements of background work, which no list query sends: of the queue, the listener and periodic tasks. */
const BACKGROUND = /pgboss|job_leases|usage_deltas RETURNING|sweep|NOTIFY|LISTEN|advisory|SELECT 1$/i;
const MESSAGE = /^duration: ([\d.]+) ms {2}plan:\n/;

/**
 * Configures a database so that PostgreSQL sends the plan of each statement. This holds for connections that are opened
 * later.
 */
export async function explainDatabase(client: pg.Client, database: string): Promise<void> {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
  };
  for (const [name, value] of Object.entries(settings)) {
    await client.query(`ALTER DATABASE ${database} SET ${name} = '${value}'`);
  }
}

/**
 * Collects the plans of the statements that this process sends, until it is disposed. The database must send plans
 * (`explainDatabase`), and the connection must be opened later than this call.
 */
export function recordPlans(): Disposable & { take(): ExecutedPlan[] } {
  let plans: ExecutedPlan[] = [];
  const original = pg.Client.prototype.connect;
  pg.Client.prototype.connect = function (this: pg.Client, ...given: unknown[]) {
    this.on('notice', ({ message = '' }) => {
      const [start, ms] = MESSAGE.exec(message) ?? [];
      if (start === undefined) return;
      const { 'Query Text': text, Plan: root } = JSON.parse(message.slice(start.length));
      if (!BACKGROUND.test(text)) plans.push(executed(text, root, Number(ms)));
    });
    return (original as (...args: unknown[]) => unknown).apply(this, given);
  } as typeof original;
  return {
    take() {
      const taken = plans;
      plans = [];
      return taken;
    },
    [Symbol.dispose]() {
      pg.Client.prototype.connect = original;
    },
  };
}

function executed(text: string, root: PlanNode, ms: number): ExecutedPlan {
  const touched = new Map<string, number>();
  const visit = (node: PlanNode) => {
    const table = node['Relation Name'];
    if (table !== undefined) {
      const dropped = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
      const rows = Math.round((node['Actual Rows'] + dropped) * node['Actual Loops']);
      touched.set(table, (touched.get(table) ?? 0) + rows);
    }
    for (const child of node.Plans ?? []) visit(child);
  };
  visit(root);
  const buffers = (root['Shared Hit Blocks'] ?? 0) + (root['Shared Read Blocks'] ?? 0);
  return { text, returned: root['Actual Rows'] * root['Actual Loops'], touched, buffers, ms };
}
