/**
 * After a signal, work in progress may go on for this time, in ms. Then it is stopped, and the queue repeats it after
 * the next start.
 */
export const DRAIN_MS = 30_000;
/**
 * Time limit in ms for closing connections and PostgreSQL. It also applies if a signal arrives during the start. What
 * starts the process must wait longer than `DRAIN_MS + CLOSE_MS` before it kills (R540).
 */
export const CLOSE_MS = 10_000;
