/**
 * SQL that is true if the account with this id works in this cell. A move copies the rows of an account before it
 * arrives, and they still change in the other cell (R504). So nothing but the move may change them here. `id` must not
 * name a column of a table with the alias `here`.
 */
export const isHere = (id: string) =>
  `(SELECT here.moving IS DISTINCT FROM 'moved' FROM accounts here WHERE here.id = ${id})`;
