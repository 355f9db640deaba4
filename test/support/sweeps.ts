import { systemIds } from '../../src/crypto/ids.ts';
import { Sweeps } from '../../src/domain/messages/sweeps.ts';
import { PgChanges } from '../../src/storage/pg-changes.ts';
import { PgListener } from '../../src/storage/pg-listener.ts';
import { Sql } from '../../src/storage/sql.ts';
import { createStores, createUnitOfWork } from '../../src/storage/unit-of-work.ts';
import { silentLogger, withKnex } from './database.ts';
import type { TestGateway } from './gateway.ts';

/** One round of every sweep on the gateway's database, as if it were `now`. */
export async function sweepAt(gateway: TestGateway, now: Date): Promise<void> {
  await withKnex(gateway.database.connection, async (knex) => {
    const sql = new Sql(knex);
    const changes = new PgChanges(new PgListener(gateway.database.connection, silentLogger));
    const uow = createUnitOfWork(sql, (transaction) => gateway.parts.queue.sinkFor(transaction), changes);
    await new Sweeps(uow, createStores(sql), { now: () => now }, systemIds).run();
  });
}
