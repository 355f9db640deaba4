/** Sets the clocks of gateways and of their database back together, so that a test lives through a month. */
import pg from 'pg';

/**
 * Creates functions of the database's own for the time, which come before PostgreSQL's. They subtract what is in the
 * table `set_back`. Connections that are opened later use them.
 */
export async function prepareClocks(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query(`
    CREATE TABLE set_back (by interval NOT NULL);
    INSERT INTO set_back VALUES ('0');
    CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE
      RETURN pg_catalog.now() - (SELECT by FROM public.set_back);
    CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      RETURN pg_catalog.clock_timestamp() - (SELECT by FROM public.set_back);
    DO $$ BEGIN
      EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
    END $$`);
  await client.end();
}

export interface SetBackClocks extends AsyncDisposable {
  /** Sets the clocks back by `ms` from the present time. New ids use this time too. */
  setBack(ms: number): Promise<void>;
}

/** Takes over the clocks of gateways on a prepared database. */
export async function setBackClocks(
  connection: pg.ClientConfig,
  clocks: readonly object[],
): Promise<SetBackClocks> {
  const client = new pg.Client(connection);
  await client.connect();
  let backMs = 0;
  // The machine's clock and the database's differ on purpose.
  for (const clock of clocks)
    Object.assign(clock, { now: () => new Date(Date.now() - backMs), fault: () => undefined });
  return {
    async setBack(ms) {
      await client.query(`UPDATE set_back SET by = $1 * interval '1 millisecond'`, [ms]);
      backMs = ms;
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}
