import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knex } from 'knex';
import type { HeldJob, NewJob } from '../../src/domain/ports/job-queue.ts';
import { PgBossQueue } from '../../src/queue/pg-boss-queue.ts';
import { PgListener } from '../../src/storage/postgres/pg-listener.ts';
import { createKnex, Sql } from '../../src/storage/postgres/sql.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { machineClock } from '../support/system.ts';

const job = (id: string, more: Partial<NewJob<'submit'>> = {}): NewJob<'submit'> => ({
  queue: 'submit',
  routeKey: 'sms:*',
  data: { messageIds: [id], attempt: 0 },
  ...more,
});

describe('the queue', () => {
  let database: TestDatabase;
  let knex: Knex;
  let sql: Sql;
  const opened: { queue: PgBossQueue; listener: PgListener }[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    knex = createKnex(database.connection, silentLogger);
    sql = new Sql(knex);
  });
  afterEach(async () => {
    for (const { queue, listener } of opened.splice(0)) {
      await queue.stopWorking(1_000);
      await queue.stop();
      await listener.stop();
    }
    await knex('pgboss.job').del();
    await knex('job_leases').del();
    // pg-boss counts jobs every two seconds, and caches the counts for a minute. Drop the cached counts.
    await knex('pgboss.queue').update({ monitor_on: null, queued_count: 0, active_count: 0 });
  });
  afterAll(async () => {
    await knex.destroy();
    await database.drop();
  });

  /** Opens a queue as another process has it. */
  async function open(pool: Sql['pool'] = sql.pool): Promise<PgBossQueue> {
    const listener = new PgListener(database.connection, silentLogger);
    await listener.start();
    const queue = new PgBossQueue({
      pool,
      transaction: (work) => sql.transaction((_, connection) => work(connection)),
      clock: machineClock,
      logger: silentLogger,
      listen: (channel, onMessage, onReconnect) => listener.listen(channel, onMessage, onReconnect),
    });
    await queue.start();
    opened.push({ queue, listener });
    return queue;
  }
  /** Opens a queue whose worker has no free slot. So its jobs go into the table of pg-boss. */
  async function openFull(): Promise<PgBossQueue> {
    const queue = await open();
    await queue.work('submit', { concurrency: 0, perRoute: 0 }, async () => {});
    return queue;
  }
  const enqueue = (queue: PgBossQueue, jobs: NewJob[], after = async () => {}) =>
    sql.transaction(async (inside, connection) => {
      await queue.sinkFor({ connection, onEnd: (callback) => inside.onEnd(callback) }).enqueue(jobs);
      await after();
    });
  const idOf = (held: HeldJob<'submit'>) => held.data.messageIds[0];

  it('commits jobs with the transaction, and drops them on rollback', async () => {
    const queue = await open();
    await expect(enqueue(queue, [job('lost')], () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await enqueue(queue, [job('kept')]);
    expect(await queue.depth()).toMatchObject({ submit: 1 });
  });

  it('gives each job to one worker of all processes', async () => {
    const [one, two] = [await open(), await open()];
    const seen: (string | undefined)[] = [];
    for (const queue of [one, two]) {
      await queue.work(
        'submit',
        { concurrency: 10, perRoute: 10 },
        async (held) => void seen.push(idOf(held)),
      );
    }
    const ids = Array.from({ length: 60 }, (_, index) => `m${index}`);
    await enqueue(
      one,
      ids.map((id) => job(id)),
    );
    await eventually(() => seen.length >= 60);
    expect([...seen].sort()).toEqual([...ids].sort());
    await eventually(async () => (await one.depth()).submit === 0);
  });

  it('gives a job at commit to the process that created it, and to no other while its lease lasts', async () => {
    const [own, other] = [await open(), await open()];
    const ends: (() => void)[] = [];
    const seen: HeldJob<'submit'>[] = [];
    await own.work('submit', { concurrency: 10, perRoute: 10 }, async (held) => {
      seen.push(held);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    const elsewhere: (string | undefined)[] = [];
    await other.work(
      'submit',
      { concurrency: 10, perRoute: 10 },
      async (held) => void elsewhere.push(idOf(held)),
    );
    await enqueue(own, [job('mine', { prefetched: [] })], async () => expect(seen).toEqual([]));
    // The handler got the job before the next turn of the event loop. So no query can have fetched it.
    expect(seen).toMatchObject([
      { data: { messageIds: ['mine'], attempt: 0 }, prefetched: [], isRepeat: false },
    ]);
    const lease = async () => {
      const [row] = await knex('job_leases').select(
        knex.raw('extract(epoch FROM due_at - now())::float8 AS seconds'),
        'due_at',
      );
      return row;
    };
    const first = await lease();
    expect(first.seconds).toBeGreaterThan(5);
    await eventually(async () => (await lease()).due_at > first.due_at);
    expect(await knex('pgboss.job')).toEqual([]);
    expect(elsewhere).toEqual([]);
    for (const end of ends) end();
    await eventually(async () => (await own.depth()).submit === 0);
  });

  it('brings a job that fails repeatedly back at growing delays, also in a queue made with other options', async () => {
    await knex('pgboss.queue').update({ retry_backoff: false });
    const queue = await open();
    await queue.work('submit', { concurrency: 10, perRoute: 10 }, () => Promise.reject(new Error('no')));
    await enqueue(await openFull(), [job('odd')]);
    // The job becomes due this late only if the delays grow.
    await eventually(
      async () =>
        (await knex('pgboss.job').whereRaw(`start_after > now() + interval '2500 ms'`)).length === 1,
    );
  });

  it('leaves jobs, where it runs no worker, as unstarted work for a process that does', async () => {
    const [idle, worker] = [await open(), await open()];
    const later = new Date(Date.now() + 3_600_000);
    for (const id of ['m1', 'm2']) await enqueue(idle, [job(id), job(`${id} later`, { startAfter: later })]);
    expect(await knex('job_leases')).toHaveLength(2);
    expect(await knex('pgboss.job')).toHaveLength(2);
    // `depth` also counts jobs that are not due yet.
    expect(await idle.depth()).toMatchObject({ submit: 4 });
    const seen: HeldJob<'submit'>[] = [];
    await worker.work('submit', { concurrency: 10, perRoute: 10 }, async (held) => void seen.push(held));
    await eventually(() => seen.length === 2);
    expect(seen.map(idOf).toSorted()).toEqual(['m1', 'm2']);
    expect(seen).toMatchObject([
      { isRepeat: false, routeKey: 'sms:*' },
      { isRepeat: false, routeKey: 'sms:*' },
    ]);
    await eventually(async () => (await idle.depth()).submit === 2);
  });

  it('is notified of jobs left for other processes, without polling', async () => {
    // This queue finds no job by fetching. It can get jobs only by notifications.
    const blind: Sql['pool'] = {
      query: async (config) =>
        (config.name === 'queue-look' ? { rows: [] } : sql.pool.query(config)) as never,
    };
    const [idle, worker] = [await open(), await open(blind)];
    const seen: (string | undefined)[] = [];
    await worker.work(
      'submit',
      { concurrency: 50, perRoute: 50 },
      async (held) => void seen.push(idOf(held)),
    );
    const ids = Array.from({ length: 450 }, (_, index) => `m${index}`);
    await enqueue(
      idle,
      ids.map((id) => job(id)),
    );
    await eventually(() => seen.length >= ids.length);
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  it('gives the jobs of a dead process to another one, marked as perhaps partly done', async () => {
    const [dead, alive] = [await open(), await open()];
    await dead.work('submit', { concurrency: 1, perRoute: 1 }, () => new Promise(() => {}));
    await enqueue(dead, [job('left', { prefetched: [] })]);
    const seen: HeldJob<'submit'>[] = [];
    await alive.work('submit', { concurrency: 1, perRoute: 1 }, async (held) => void seen.push(held));
    await eventually(async () => {
      // Let the lease expire. No process renews it.
      await knex.raw('UPDATE job_leases SET due_at = now()');
      return seen.length > 0;
    });
    expect(seen).toMatchObject([{ data: { messageIds: ['left'] }, isRepeat: true }]);
    // The prefetched data is not passed on, because it may have changed since.
    expect(seen[0]?.prefetched).toBeUndefined();
  });

  it('ends a leased job in the transaction that records its work, or not at all', async () => {
    const queue = await open();
    const seen: HeldJob<'submit'>[] = [];
    const ends: (() => void)[] = [];
    await queue.work('submit', { concurrency: 1, perRoute: 1 }, async (held) => {
      seen.push(held);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    const end = (rest = async () => {}) =>
      sql.transaction(async (inside, connection) => {
        await queue.sinkFor({ connection, onEnd: (callback) => inside.onEnd(callback) }).end(seen);
        await rest();
      });
    await enqueue(queue, [job('one')]);
    await expect(end(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await queue.depth()).toMatchObject({ submit: 1 });
    await end();
    expect(await queue.depth()).toMatchObject({ submit: 0 });
    // The next job finds no free slot and goes through the table. So the handler deletes it at its end.
    await enqueue(queue, [job('two')]);
    for (const resolve of ends.splice(0)) resolve();
    await eventually(() => seen.length === 2);
    await end();
    expect(await knex('pgboss.job')).toHaveLength(1);
    for (const resolve of ends) resolve();
    await eventually(async () => (await queue.depth()).submit === 0);
  });

  it('frees the slot of a job that was rolled back', async () => {
    const queue = await open();
    const seen: (string | undefined)[] = [];
    await queue.work('submit', { concurrency: 1, perRoute: 1 }, async (held) => void seen.push(idOf(held)));
    await expect(enqueue(queue, [job('lost')], () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await enqueue(queue, [job('kept')]);
    expect(seen).toEqual(['kept']);
    await eventually(async () => (await queue.depth()).submit === 0);
  });

  it('brings a job back when its handler fails, until it succeeds', async () => {
    const queue = await open();
    let calls = 0;
    await queue.work('submit', { concurrency: 10, perRoute: 10 }, async () => {
      calls += 1;
      if (calls < 3) throw new Error('not yet');
    });
    await enqueue(queue, [job('again')]);
    await eventually(() => calls === 3);
    await eventually(async () => (await queue.depth()).submit === 0);
  });

  it('does not start a deferred job early', async () => {
    const queue = await open();
    let startedAt = 0;
    await queue.work('submit', { concurrency: 10, perRoute: 10 }, async () => {
      startedAt = Date.now();
    });
    const due = new Date(Date.now() + 1_500);
    await enqueue(queue, [job('later', { startAfter: due })]);
    await eventually(() => startedAt > 0);
    expect(startedAt).toBeGreaterThanOrEqual(due.getTime());
  });

  it('finds a deferred job that another process enqueued', async () => {
    const [worker, other] = [await open(), await open()];
    let startedAt = 0;
    await worker.work('submit', { concurrency: 10, perRoute: 10 }, async () => {
      startedAt = Date.now();
    });
    const due = new Date(Date.now() + 500);
    await enqueue(other, [job('later', { startAfter: due })]);
    await eventually(() => startedAt > 0);
    expect(startedAt).toBeGreaterThanOrEqual(due.getTime());
  });

  it('holds no more jobs of one route than its share, and lets others pass', async () => {
    const queue = await open();
    let slow = 0;
    let mostSlow = 0;
    const release: (() => void)[] = [];
    const quick: (string | undefined)[] = [];
    await queue.work('submit', { concurrency: 20, perRoute: 3 }, async (held) => {
      if (held.routeKey === 'quick') return void quick.push(idOf(held));
      slow += 1;
      mostSlow = Math.max(mostSlow, slow);
      await new Promise<void>((resolve) => release.push(resolve));
      slow -= 1;
    });
    await enqueue(
      queue,
      Array.from({ length: 12 }, (_, index) => job(`s${index}`, { routeKey: 'slow' })),
    );
    await eventually(() => slow >= 3);
    await enqueue(queue, [job('q', { routeKey: 'quick' })]);
    await eventually(() => quick.length === 1);
    let done = 0;
    await eventually(() => {
      for (const let_go of release.splice(0)) {
        let_go();
        done += 1;
      }
      return done === 12;
    });
    // 5 may run. One fetch may have begun before the route was full.
    expect(mostSlow).toBeLessThanOrEqual(6);
  });

  it('fills a free slot at once, whatever the poll interval', async () => {
    const [full, queue] = [await openFull(), await open()];
    const ids = ['m1', 'm2', 'm3', 'm4', 'm5'];
    for (const id of ids) await enqueue(full, [job(id)]);
    const seen: (string | undefined)[] = [];
    const options = { concurrency: 10, perRoute: 1, pauseMs: 3_600_000 };
    await queue.work('submit', options, async (held) => void seen.push(idOf(held)));
    await eventually(() => seen.length === ids.length);
    expect(seen.toSorted()).toEqual(ids);
  });

  it('gives back what it still holds when the drain time is over', async () => {
    const [first, second] = [await open(), await open()];
    let held = 0;
    await first.work('submit', { concurrency: 10, perRoute: 10 }, async (_job, signal) => {
      held += 1;
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('drain'))),
      );
    });
    await enqueue(first, [job('unfinished')]);
    await eventually(() => held === 1);
    await first.stopWorking(1_000);
    const seen: (string | undefined)[] = [];
    await second.work(
      'submit',
      { concurrency: 10, perRoute: 10 },
      async (back) => void seen.push(idOf(back)),
    );
    await eventually(() => seen.includes('unfinished'));
  });

  it('aborts a job that another process took, and continues with the others', async () => {
    const queue = await open();
    const held = new Map<string | undefined, AbortSignal>();
    const ends: (() => void)[] = [];
    await queue.work('submit', { concurrency: 2, perRoute: 2 }, async (taken, signal) => {
      held.set(idOf(taken), signal);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    // Two jobs are handed over at the commit. The third one is fetched from the table when a slot is free.
    for (const id of ['lost', 'kept', 'fetched']) await enqueue(queue, [job(id)]);
    const lostId = `(SELECT id FROM job_leases WHERE job->'data'->'messageIds'->>0 = 'lost')`;
    await knex.raw(`DELETE FROM job_leases WHERE id = ${lostId}`);
    await eventually(() => held.get('lost')?.aborted);
    expect(held.get('kept')?.aborted).toBe(false);
    ends[0]?.();
    await eventually(() => held.has('fetched'));
    await knex.raw(`UPDATE pgboss.job SET state = 'retry', retry_count = retry_count + 1,
      start_after = now() + interval '1 hour' WHERE name = 'submit'`);
    await eventually(() => held.get('fetched')?.aborted);
    expect(held.get('kept')?.aborted).toBe(false);
    for (const end of ends) end();
  });

  it('takes a job back from a process that stopped renewing its lease', async () => {
    const [dead, alive] = [await openFull(), await open()];
    // Change the row as if a process had fetched the job and been killed. No process renews its lease.
    await enqueue(dead, [job('orphan')]);
    const { rowCount } = await knex.raw(
      `UPDATE pgboss.job SET state = 'active', started_on = now() - interval '1 minute',
         heartbeat_on = now() - interval '1 minute' WHERE name = 'submit'`,
    );
    expect(rowCount).toBe(1);
    const seen: (string | undefined)[] = [];
    await alive.work('submit', { concurrency: 10, perRoute: 10 }, async (back) => void seen.push(idOf(back)));
    await eventually(() => seen.includes('orphan'));
  });
});

describe('the tables of the queue', () => {
  it('are made once when several processes start at once, and each process starts', async () => {
    const database = await createTestDatabase('template1');
    const own = createKnex(database.connection, silentLogger);
    const start = async () => {
      const knex = createKnex(database.connection, silentLogger);
      const sql = new Sql(knex);
      const queue = new PgBossQueue({
        pool: sql.pool,
        transaction: (work) => sql.transaction((_, connection) => work(connection)),
        clock: machineClock,
        logger: silentLogger,
      });
      try {
        await queue.start();
        await queue.check();
        await queue.stop();
      } finally {
        await knex.destroy();
      }
    };
    try {
      for (let round = 0; round < 5; round++) {
        await own.raw('DROP SCHEMA IF EXISTS pgboss CASCADE');
        await Promise.all([start(), start(), start()]);
        expect(await own('pgboss.queue').count()).toEqual([{ count: 5 }]);
      }
    } finally {
      await own.destroy();
      await database.drop();
    }
  });
});
