import { ExpireMessages } from '../../src/workers/expiry/expire-messages.ts';
import type { TestGateway } from './gateway.ts';
import { machineIds } from './system.ts';
import { withUnitOfWork } from './unit-of-work.ts';

/** Runs each sweep once on the gateway's database, as if the time was `now`. */
export async function sweepAt(gateway: TestGateway, now: Date): Promise<void> {
  await withUnitOfWork(gateway, (uow, stores) =>
    new ExpireMessages(uow, stores, { now: () => now }, machineIds).run(),
  );
}
