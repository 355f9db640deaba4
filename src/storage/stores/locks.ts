import { statement } from '../postgres/sql.ts';

/** Locks messages in the order of their ids, so that two transactions do not deadlock. */
export const LOCK_MESSAGES = statement(
  'message-lock',
  `SELECT id FROM messages WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE`,
);
