/**
 * A worker process for tests that kill it: `node THIS_FILE STEP`, with the server's environment. compose.ts builds it
 * as usual, but it stops at STEP of its work. It waits there for the kill -9.
 */
import { PgBoss } from 'pg-boss';
import { compose } from '../../src/compose.ts';
import { loadConfig } from '../../src/config/config.ts';
import { PgBossQueue } from '../../src/queue/pg-boss-queue.ts';
import { QueueWorker } from '../../src/queue/queue-worker.ts';
import { PgContactStore } from '../../src/storage/stores/contact.store.ts';
import { PgDeliveryStore } from '../../src/storage/stores/delivery.store.ts';
import { PgErasureStore } from '../../src/storage/stores/erasure.store.ts';
import { DeliverWebhooks } from '../../src/workers/webhooks/deliver.ts';
import { silentLogger } from './database.ts';

/** Prints that the worker has reached the step. Never resolves. */
function reached(): Promise<never> {
  process.stdout.write('reached\n');
  return new Promise(() => undefined);
}

const STEPS: Readonly<Record<string, () => void>> = {
  'event recorded'() {
    const work = PgBossQueue.prototype.work;
    PgBossQueue.prototype.work = async function (this: PgBossQueue, queue, options, handler) {
      if (queue === 'submit') await work.call(this, queue, options, handler as never);
    };
    const insert = PgDeliveryStore.prototype.insert;
    PgDeliveryStore.prototype.insert = async function (this: PgDeliveryStore, deliveries) {
      await insert.call(this, deliveries);
      // Stop after this transaction has committed. Before the commit there is no event that could be lost.
      if (deliveries.length > 0) setTimeout(reached, 500);
    };
  },
  'job fetched'() {
    DeliverWebhooks.prototype.handle = reached;
  },
  'attempt made, not recorded'() {
    PgDeliveryStore.prototype.record = reached;
  },
  'attempt recorded, job not done'() {
    // Take all jobs from the queue. Such a job is deleted after its last attempt, and the worker stops before that. A
    // job that is handed over is deleted in the same transaction as its last attempt is recorded.
    QueueWorker.prototype.reserve = () => undefined;
    const deleteJob = PgBoss.prototype.deleteJob;
    PgBoss.prototype.deleteJob = function (this: PgBoss, name, id, options) {
      return name === 'webhook' ? reached() : deleteJob.call(this, name, id, options);
    };
  },
  'third batch of contacts written, not committed'() {
    const saveAll = PgContactStore.prototype.saveAll;
    let batches = 0;
    PgContactStore.prototype.saveAll = async function (this: PgContactStore, changes) {
      await saveAll.call(this, changes);
      batches += 1;
      if (batches === 3) await reached();
    };
  },
  'third batch of messages erased, not committed'() {
    const eraseMessages = PgErasureStore.prototype.eraseMessages;
    let batches = 0;
    PgErasureStore.prototype.eraseMessages = async function (this: PgErasureStore, erasures) {
      batches += 1;
      const reports = await eraseMessages.call(this, erasures);
      return batches === 3 ? reached() : reports;
    };
  },
};

const [step = ''] = process.argv.slice(2);
const prepare = STEPS[step];
if (!prepare) throw new Error(`there is no step "${step}"`);
prepare();
const gateway = await compose(loadConfig(), silentLogger);
await gateway.startWorking();
