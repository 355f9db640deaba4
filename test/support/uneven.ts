/** Selects accounts whose balance is not the sum of their ledger, or whose ledger numbers have gaps. */
export const UNEVEN = `SELECT a.id FROM accounts a LEFT JOIN LATERAL (
    SELECT coalesce(sum(amount_minor), 0) AS sum, count(*) AS entries, coalesce(max(seq), 0) AS last
    FROM ledger_entries WHERE account_id = a.id) l ON true
  WHERE a.balance_minor <> l.sum OR l.entries <> l.last OR a.ledger_seq <> l.last`;
