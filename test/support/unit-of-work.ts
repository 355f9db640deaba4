import type { Stores, UnitOfWork } from '../../src/domain/ports/stores.ts';
import { PgChanges } from '../../src/storage/postgres/pg-changes.ts';
import { PgListener } from '../../src/storage/postgres/pg-listener.ts';
import { Sql } from '../../src/storage/postgres/sql.ts';
import { createStores, createUnitOfWork } from '../../src/storage/postgres/unit-of-work.ts';
import { silentLogger, withKnex } from './database.ts';
import type { TestGateway } from './gateway.ts';

/** Runs `work` with transactions on the gateway's database and its queue, on separate connections. */
export async function withUnitOfWork<T>(
  gateway: TestGateway,
  work: (uow: UnitOfWork, stores: Stores) => Promise<T>,
): Promise<T> {
  return withKnex(gateway.database.connection, (knex) => {
    const sql = new Sql(knex);
    const changes = new PgChanges(new PgListener(gateway.database.connection, silentLogger));
    const { auditHeads, queue } = gateway.parts;
    const uow = createUnitOfWork(
      sql,
      (transaction) => queue.sinkFor(transaction),
      changes,
      (inside) => createStores(inside, auditHeads),
    );
    return work(uow, createStores(sql, auditHeads));
  });
}
