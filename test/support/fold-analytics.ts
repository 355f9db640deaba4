import { eventually } from './eventually.ts';
import type { TestGateway } from './gateway.ts';
import type { TestSql } from './sql.ts';
import { withUnitOfWork } from './unit-of-work.ts';

const BEHIND = `SELECT FROM analytics_deltas
  UNION ALL SELECT FROM accounts a LEFT JOIN analytics_marks k ON k.account_id = a.id
  WHERE (a.sms_seq, a.email_seq, a.push_seq, a.whatsapp_seq, a.ledger_seq)
    IS DISTINCT FROM (k.sms_seq, k.email_seq, k.push_seq, k.whatsapp_seq, k.ledger_seq)
  LIMIT 1`;

/** Folds until the analytics contain every message and change. A call does nothing while the gateway itself folds. */
export const foldAnalytics = (gateway: TestGateway, sql: TestSql): Promise<unknown> =>
  eventually(async () => {
    await withUnitOfWork(gateway, (_uow, stores) => stores.analytics.fold());
    return (await sql.query(BEHIND)).length === 0;
  });
