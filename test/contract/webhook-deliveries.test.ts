import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { verifyWebhook } from '../../src/domain/webhooks/webhook-signature.ts';
import { eventually } from '../support/eventually.ts';
import type { TestAccount } from '../support/gateway.ts';
import { rawReceiver } from '../support/raw-receiver.ts';
import { openSql } from '../support/sql.ts';
import { startWebhookBench } from '../support/webhooks.ts';

let bench: Awaited<ReturnType<typeof startWebhookBench>>;
let owner: TestAccount;
beforeAll(async () => {
  bench = await startWebhookBench();
});
/**
 * The account of a test that runs alone. Tests that wait for seconds run at the same time, each with its own account.
 */
beforeEach(async () => {
  owner = await bench.gateway.createAccount();
});
afterAll(() => bench?.stop());

interface DeliveryJson {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly messageId: string;
}
/** Waits until the endpoint has one delivery with `status`, and returns it. */
const settled = (owner: TestAccount, id: string, status: string, query = '') =>
  eventually(async () => {
    const { data } = await bench.deliveries(owner, id, query);
    return data.length === 1 && data[0].status === status && data[0];
  });

describe('delivery records (R30, R79–R84)', () => {
  it('show a success with its attempt', async () => {
    const receiver = await bench.receiving();
    const { id } = await bench.register(owner, { url: receiver.url });
    const messageId = await bench.sendSms(owner);
    const delivery = await settled(owner, id, 'success');
    expect(delivery).toEqual({
      id: receiver.received[0]?.headers['x-service-delivery'],
      event: 'sms.sent',
      messageId,
      status: 'success',
      httpStatus: 200,
      attempts: 1,
      responseBody: 'ok',
      errorMessage: null,
      nextRetryAt: null,
      createdAt: receiver.received[0]?.body.timestamp,
      attemptLog: [
        { at: expect.any(String), httpStatus: 200, durationMs: expect.any(Number), errorMessage: null },
      ],
    });
  });

  // test/unit/record-attempts.test.ts tests the exact delay.
  it('show a failed attempt with the time of its retry, 5 s after the attempt ended', async () => {
    const receiver = await bench.receiving(() => 404);
    const { id } = await bench.register(owner, { url: receiver.url });
    await bench.sendSms(owner);
    const delivery = await settled(owner, id, 'retrying');
    expect(delivery).toMatchObject({ httpStatus: 404, attempts: 1, errorMessage: 'answered 404' });
    const [attempt] = delivery.attemptLog;
    const shownAt = Date.now();
    const dueAt = Date.parse(delivery.nextRetryAt);
    // The start and the duration of the attempt are each rounded to a millisecond.
    expect(dueAt).toBeGreaterThanOrEqual(Date.parse(attempt.at) + attempt.durationMs + 5_000 - 2);
    // The attempt had ended before the test read it. The time of a retry is rounded up to 20 ms.
    expect(dueAt).toBeLessThanOrEqual(shownAt + 5_000 + 20);
  });

  it('explain a failure without an answer', async () => {
    const receiver = await bench.receiving();
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    await receiver.stop();
    await bench.sendSms(owner);
    const delivery = await settled(owner, id, 'failed');
    expect(delivery).toMatchObject({ httpStatus: null, responseBody: null, nextRetryAt: null });
    expect(delivery.errorMessage).toMatch(/refused/);
  });

  it.concurrent('show a timeout after 10 seconds for a receiver that never answers (R190)', async () => {
    const owner = await bench.gateway.createAccount();
    const silent = await rawReceiver(() => undefined);
    try {
      const { id } = await bench.register(owner, { url: `http://127.0.0.1:${silent.port}/`, maxRetries: 0 });
      await bench.sendSms(owner);
      const delivery = await settled(owner, id, 'failed');
      expect(delivery).toMatchObject({ httpStatus: null, attempts: 1 });
      expect(delivery.errorMessage).toMatch(/timed out after 10 s/);
      expect(delivery.attemptLog[0].durationMs).toBeGreaterThanOrEqual(9_900);
    } finally {
      await silent.close();
    }
  });

  it('are paged, newest first, and filtered by status and event (R112)', async () => {
    const receiver = await bench.receiving((hook) => (hook.body.event === 'sms.failed' ? 500 : 200));
    const { id } = await bench.register(owner, {
      url: receiver.url,
      events: ['sms.sent', 'sms.failed'],
      maxRetries: 0,
    });
    for (let index = 0; index < 3; index += 1) await bench.sendSms(owner);
    await bench.sendSms(owner, '+256700120001');
    await eventually(async () => {
      const { data } = await bench.deliveries(owner, id);
      return data.length === 4 && data.every((delivery: DeliveryJson) => delivery.status !== 'pending');
    });
    const all = await bench.deliveries(owner, id);
    const ids = all.data.map((delivery: DeliveryJson) => delivery.id);
    expect(ids).toEqual([...ids].sort().reverse());
    const second = await bench.deliveries(owner, id, '?limit=3&page=2');
    expect(second.pagination).toEqual({ page: 2, limit: 3, total: 4, pages: 2 });
    expect(second.data).toEqual(all.data.slice(3));
    const failed = await bench.deliveries(owner, id, '?status=failed');
    expect(failed.pagination.total).toBe(1);
    expect(failed.data[0].event).toBe('sms.failed');
    expect((await bench.deliveries(owner, id, '?event=sms.sent&limit=50')).pagination.total).toBe(3);
    for (const query of ['?status=lost', '?event=sms.lost', '?limit=101', '?page=0']) {
      expect((await bench.deliveries(owner, id, query)).error.code).toBe('validation_error');
    }
  });

  it('are found by id, only under their own webhook', async () => {
    const receiver = await bench.receiving();
    const { id } = await bench.register(owner, { url: receiver.url });
    const other = await bench.register(owner, { url: receiver.url, events: ['sms.failed'] });
    await bench.sendSms(owner);
    const delivery = await settled(owner, id, 'success');
    expect((await bench.call(owner, 'GET', `/${id}/deliveries/${delivery.id}`)).body).toEqual({ delivery });
    for (const path of [
      `/${other.id}/deliveries/${delivery.id}`,
      `/${id}/deliveries/${id}`,
      `/${id}/deliveries/x`,
    ]) {
      expect((await bench.call(owner, 'GET', path)).status).toBe(404);
      expect((await bench.call(owner, 'POST', `${path}/retry`)).status).toBe(404);
    }
  });
});

describe('retries (R163–R167)', () => {
  it.concurrent('come 5 s later with the same id and bytes, and a new t and signature', async () => {
    const owner = await bench.gateway.createAccount();
    const receiver = await bench.receiving((_hook, count) => (count === 1 ? 503 : 204));
    const { id, secret } = await bench.register(owner, { url: receiver.url });
    await bench.sendSms(owner);
    const [first, second] = await eventually(
      () => receiver.received.length === 2 && ([...receiver.received] as const),
    );
    if (!first || !second) throw new Error('no retry');
    expect(second.at - first.at).toBeGreaterThanOrEqual(5_000);
    expect(second.raw.equals(first.raw)).toBe(true);
    expect(second.headers['x-service-delivery']).toBe(first.headers['x-service-delivery']);
    const signatures = [first, second].map((hook) => String(hook.headers['x-service-signature']));
    expect(signatures[1]).not.toBe(signatures[0]);
    const [early = 0, late = 0] = signatures.map((header) => Number(/t=(\d+)/.exec(header)?.[1]));
    // `t` is the second in which the attempt began. That is not before the event, and not after the arrival of the
    // request.
    expect(early).toBeGreaterThanOrEqual(Math.floor(Date.parse(first.body.timestamp) / 1000));
    expect(early).toBeLessThanOrEqual(first.at / 1000);
    expect(late).toBeGreaterThanOrEqual(Math.floor((first.at + 5_000) / 1000));
    expect(late).toBeLessThanOrEqual(second.at / 1000);
    for (const [index, hook] of [first, second].entries()) {
      expect(verifyWebhook(secret, signatures[index] ?? '', hook.raw, hook.at / 1000)).toBe(true);
    }
    const delivery = await settled(owner, id, 'success');
    expect(delivery).toMatchObject({ attempts: 2, httpStatus: 204 });
    expect(delivery.attemptLog.map((attempt: { httpStatus: number }) => attempt.httpStatus)).toEqual([
      503, 204,
    ]);
  });

  it.concurrent('use the current URL and secret', async () => {
    const owner = await bench.gateway.createAccount();
    const [old, next] = [await bench.receiving(() => 500), await bench.receiving()];
    const { id } = await bench.register(owner, { url: old.url });
    const messageId = await bench.sendSms(owner);
    await settled(owner, id, 'retrying');
    const { body: rotated } = await bench.call(owner, 'POST', `/${id}/rotate-secret`);
    await bench.call(owner, 'PUT', `/${id}`, { url: next.url });
    const hook = await next.waitFor((found) => found.body.messageId === messageId);
    const header = String(hook.headers['x-service-signature']);
    expect(verifyWebhook(rotated.secret, header, hook.raw, hook.at / 1000)).toBe(true);
    expect(old.received).toHaveLength(1);
  });

  it.concurrent('are signed with both secrets during the overlap of a rotation, and then with the new one (R446)', async () => {
    const owner = await bench.gateway.createAccount();
    const receiver = await bench.receiving();
    const { id, secret } = await bench.register(owner, { url: receiver.url });
    const rotate = (overlapSeconds?: number) =>
      bench.call(
        owner,
        'POST',
        `/${id}/rotate-secret`,
        overlapSeconds === undefined ? undefined : { overlapSeconds },
      );
    for (const refused of [-1, 1.5, 604_801]) expect((await rotate(refused)).status).toBe(400);
    const signedBy = async (...keys: string[]) => {
      const messageId = await bench.sendSms(owner);
      const { headers, raw, at } = await receiver.waitFor((found) => found.body.messageId === messageId);
      return ['x-service-signature', 'x-service-previous-signature'].map((name) =>
        keys.findIndex((key) => verifyWebhook(key, String(headers[name]), raw, at / 1000)),
      );
    };
    const begun = Date.now();
    const second = await rotate(3_600);
    const ends = Date.parse(second.body.previousSecretEndsAt);
    expect(ends).toBeGreaterThanOrEqual(begun + 3_590_000);
    expect(ends).toBeLessThanOrEqual(Date.now() + 3_610_000);
    expect(await signedBy(secret, second.body.secret)).toEqual([1, 0]);
    const third = await rotate(3_600);
    expect(await signedBy(secret, second.body.secret, third.body.secret)).toEqual([2, 1]);
    const tested = await bench.call(owner, 'POST', `/${id}/test`);
    const hook = await receiver.waitFor(
      ({ headers }) => headers['x-service-delivery'] === tested.body.delivery.id,
    );
    const previous = String(hook.headers['x-service-previous-signature']);
    expect(verifyWebhook(second.body.secret, previous, hook.raw, hook.at / 1000)).toBe(true);
    const sql = await openSql(bench.gateway.database);
    await sql.query('UPDATE webhooks SET previous_secret_ends_at = now() WHERE id = $1', [id]);
    await sql.close();
    expect(await signedBy(secret, second.body.secret, third.body.secret)).toEqual([2, -1]);
    await rotate(3_600);
    const fourth = await rotate();
    expect(fourth.body).not.toHaveProperty('previousSecretEndsAt');
    expect(await signedBy(third.body.secret, fourth.body.secret)).toEqual([1, -1]);
  });

  it('do not happen with maxRetries 0', async () => {
    const receiver = await bench.receiving(() => 500);
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    await bench.sendSms(owner);
    expect(await settled(owner, id, 'failed')).toMatchObject({ attempts: 1, nextRetryAt: null });
  });
});

describe('manual retry (R28)', () => {
  it('makes one more attempt under the same id', async () => {
    const receiver = await bench.receiving((_hook, count) => (count <= 2 ? 500 : 200));
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    await bench.sendSms(owner);
    const failed = await settled(owner, id, 'failed');
    const answer = await bench.call(owner, 'POST', `/${id}/deliveries/${failed.id}/retry`);
    expect(answer.status).toBe(200);
    expect(answer.body.delivery).toMatchObject({ id: failed.id, attempts: 1 });
    await eventually(async () => (await bench.deliveries(owner, id)).data[0].attempts === 2);
    expect(await settled(owner, id, 'failed')).toMatchObject({
      id: failed.id,
      attempts: 2,
      nextRetryAt: null,
    });
    await bench.call(owner, 'POST', `/${id}/deliveries/${failed.id}/retry`);
    expect(await settled(owner, id, 'success')).toMatchObject({ id: failed.id, attempts: 3 });
    expect(new Set(receiver.received.map((hook) => hook.headers['x-service-delivery']))).toEqual(
      new Set([failed.id]),
    );
  });

  it('does not wait for the next retry, and does not double it', async () => {
    const receiver = await bench.receiving((_hook, count) => (count === 1 ? 500 : 200));
    const { id } = await bench.register(owner, { url: receiver.url });
    await bench.sendSms(owner);
    const { id: deliveryId } = await settled(owner, id, 'retrying');
    await bench.call(owner, 'POST', `/${id}/deliveries/${deliveryId}/retry`);
    expect(await settled(owner, id, 'success')).toMatchObject({ attempts: 2 });
  });

  it('is refused while the webhook is inactive', async () => {
    const receiver = await bench.receiving(() => 500);
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    await bench.sendSms(owner);
    const { id: deliveryId } = await settled(owner, id, 'failed');
    await bench.call(owner, 'PUT', `/${id}`, { isActive: false });
    const answer = await bench.call(owner, 'POST', `/${id}/deliveries/${deliveryId}/retry`);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_error']);
  });
});

describe('an attempt in progress is not doubled', () => {
  /**
   * Starts a receiver. It answers the first POST with 500, the second one when `finish` is called, and later ones with
   * 409.
   */
  const receivingSlowly = async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const receiver = await bench.receiving((_hook, count) => [500, promise][count - 1] ?? 409);
    return { receiver, finish: resolve };
  };

  it.concurrent('by a retry that was due later, after a manual attempt', async () => {
    const owner = await bench.gateway.createAccount();
    const { receiver, finish } = await receivingSlowly();
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 1 });
    await bench.sendSms(owner);
    const { id: deliveryId } = await settled(owner, id, 'retrying');
    await bench.call(owner, 'POST', `/${id}/deliveries/${deliveryId}/retry`);
    await eventually(() => receiver.received.length === 2);
    await bench.noJobFor(deliveryId, { inQueue: true });
    finish(200);
    expect(await settled(owner, id, 'success')).toMatchObject({ attempts: 2, httpStatus: 200 });
    await bench.noJobFor(deliveryId);
    expect(receiver.received).toHaveLength(2);
  });

  it.concurrent('by a manual attempt during an automatic retry', async () => {
    const owner = await bench.gateway.createAccount();
    const { receiver, finish } = await receivingSlowly();
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 1 });
    await bench.sendSms(owner);
    const { id: deliveryId } = await settled(owner, id, 'retrying');
    await eventually(() => receiver.received.length === 2);
    const answer = await bench.call(owner, 'POST', `/${id}/deliveries/${deliveryId}/retry`);
    expect([answer.status, answer.body.delivery.status]).toEqual([200, 'retrying']);
    await bench.noJobFor(deliveryId, { inQueue: true });
    finish(200);
    expect(await settled(owner, id, 'success')).toMatchObject({ attempts: 2, httpStatus: 200 });
    await bench.noJobFor(deliveryId);
    expect(receiver.received).toHaveLength(2);
  });

  it('by several clicks at once', async () => {
    const { receiver, finish } = await receivingSlowly();
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    await bench.sendSms(owner);
    const { id: deliveryId } = await settled(owner, id, 'failed');
    const click = () => bench.call(owner, 'POST', `/${id}/deliveries/${deliveryId}/retry`);
    const answers = await Promise.all(Array.from({ length: 10 }, click));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    finish(200);
    expect(await settled(owner, id, 'success')).toMatchObject({ attempts: 2 });
    await bench.noJobFor(deliveryId);
    expect(receiver.received).toHaveLength(2);
  });
});

describe('recover (R28 and R31)', () => {
  it('queues once what failed and what was recorded while the webhook was inactive', async () => {
    const receiver = await bench.receiving((_hook, count) => (count <= 2 ? 500 : 200));
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    const since = new Date(Date.now() - 1_000).toISOString();
    const failed = [await bench.sendSms(owner), await bench.sendSms(owner)];
    await eventually(
      async () => (await bench.deliveries(owner, id, '?status=failed')).pagination.total === 2,
    );

    await bench.call(owner, 'PUT', `/${id}`, { isActive: false });
    expect((await bench.call(owner, 'POST', `/${id}/recover`, { since })).status).toBe(400);
    const missed = [await bench.sendSms(owner), await bench.sendSms(owner), await bench.sendSms(owner)];
    const feed = () => bench.gateway.call('GET', '/developers/events', { key: owner.key });
    await eventually(async () => (await feed()).body.data.length === 5);
    expect((await bench.deliveries(owner, id)).pagination.total).toBe(2);

    await bench.call(owner, 'PUT', `/${id}`, { isActive: true });
    const until = since;
    const nothing = await bench.call(owner, 'POST', `/${id}/recover`, {
      since: '2026-01-01T00:00:00Z',
      until,
    });
    expect(nothing.body).toEqual({ queued: 0 });
    const recovered = await bench.call(owner, 'POST', `/${id}/recover`, { since });
    expect([recovered.status, recovered.body]).toEqual([200, { queued: 5 }]);
    await eventually(
      async () => (await bench.deliveries(owner, id, '?status=success')).pagination.total === 5,
    );
    const told = receiver.received.slice(2).map((hook) => hook.body.messageId);
    expect(told.sort()).toEqual([...failed, ...missed].sort());
    expect((await bench.call(owner, 'POST', `/${id}/recover`, { since })).body).toEqual({ queued: 0 });
  });

  it('queues each failed delivery once, with any number of concurrent recoveries', async () => {
    const { promise, resolve: finish } = Promise.withResolvers<number>();
    const receiver = await bench.receiving((_hook, count) => (count <= 3 ? 500 : promise));
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    const since = new Date(Date.now() - 1_000).toISOString();
    for (let index = 0; index < 3; index += 1) await bench.sendSms(owner);
    await eventually(
      async () => (await bench.deliveries(owner, id, '?status=failed')).pagination.total === 3,
    );
    const recovered = await Promise.all(
      Array.from({ length: 5 }, () => bench.call(owner, 'POST', `/${id}/recover`, { since })),
    );
    const queued = recovered.map(({ body }) => body.queued as number);
    expect(queued.reduce((sum, count) => sum + count)).toBe(3);
    finish(200);
    const { data } = await bench.deliveries(owner, id);
    for (const delivery of data) await bench.noJobFor(delivery.id);
    expect((await bench.deliveries(owner, id, '?status=success')).pagination.total).toBe(3);
    expect(receiver.received).toHaveLength(6);
  });

  it.concurrent('gives failed deliveries new retries', async () => {
    const owner = await bench.gateway.createAccount();
    const receiver = await bench.receiving((_hook, count) => (count <= 2 ? 500 : 200));
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    const since = new Date(Date.now() - 1_000).toISOString();
    await bench.sendSms(owner);
    await settled(owner, id, 'failed');
    await bench.call(owner, 'PUT', `/${id}`, { maxRetries: 1 });
    await bench.call(owner, 'POST', `/${id}/recover`, { since });
    // A recovery starts to count attempts from zero. So the second attempt counts as the first, and one retry is left.
    expect(await settled(owner, id, 'success')).toMatchObject({ attempts: 3 });
  });

  it("attempts with the webhook's latest settings, even when the recovery read older ones", async () => {
    const receiver = await bench.receiving(() => 500);
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    const since = new Date(Date.now() - 1_000).toISOString();
    // Slow the clock down, so that the settings in the cache do not expire during the test.
    const [start, now] = [performance.now(), performance.now.bind(performance)];
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => start + (now() - start) / 1_000);
    try {
      await bench.sendSms(owner);
      await settled(owner, id, 'failed');
      await bench.call(owner, 'PUT', `/${id}`, { maxRetries: 1 });
      await bench.call(owner, 'POST', `/${id}/recover`, { since });
      await eventually(() => receiver.received.length === 2);
      await eventually(async () => (await bench.deliveries(owner, id)).data[0].attempts === 2);
    } finally {
      clock.mockRestore();
    }
    expect((await bench.deliveries(owner, id)).data).toMatchObject([{ status: 'retrying', attempts: 2 }]);
  });

  it('keeps its retries when one of the deliveries is retried manually', async () => {
    const receiver = await bench.receiving(() => 500);
    const { id } = await bench.register(owner, { url: receiver.url, maxRetries: 0 });
    const since = new Date(Date.now() - 1_000).toISOString();
    await bench.sendSms(owner);
    await settled(owner, id, 'failed');
    await bench.call(owner, 'PUT', `/${id}`, { maxRetries: 2 });
    await bench.call(owner, 'POST', `/${id}/recover`, { since });
    const attempted = (attempts: number) =>
      eventually(async () => {
        const delivery = (await bench.deliveries(owner, id)).data[0];
        return delivery.attempts === attempts && delivery;
      });
    const recovered = await attempted(2);
    expect(recovered.status).toBe('retrying');
    await bench.call(owner, 'POST', `/${id}/deliveries/${recovered.id}/retry`);
    // This is the second attempt since the recovery. Three are allowed.
    expect(await attempted(3)).toMatchObject({ status: 'retrying', nextRetryAt: expect.any(String) });
  });

  it('reports that since is in the future, and names no field that was not sent', async () => {
    const { id } = await bench.register(owner, { url: 'http://127.0.0.1:4999/' });
    const since = new Date(Date.now() + 3_600_000).toISOString();
    const answer = await bench.call(owner, 'POST', `/${id}/recover`, { since });
    expect([answer.status, answer.body.error.details.fields]).toEqual([
      400,
      [{ path: 'since', message: 'must not be in the future' }],
    ]);
  });

  it('omits events that the webhook does not subscribe to, and tests', async () => {
    const receiver = await bench.receiving(() => 500);
    const { id } = await bench.register(owner, { url: receiver.url, events: ['sms.failed', 'webhook.test'] });
    const other = await bench.register(owner, { url: receiver.url });
    await bench.sendSms(owner);
    await bench.call(owner, 'POST', `/${id}/test`);
    await bench.call(owner, 'POST', `/${other.id}/test`);
    await settled(owner, other.id, 'retrying', '?event=sms.sent');
    const recovered = await bench.call(owner, 'POST', `/${id}/recover`, { since: '2026-01-01T00:00:00Z' });
    expect(recovered.body).toEqual({ queued: 0 });
  });

  it.each([
    ['no since', {}],
    ['a date without a time', { since: '2026-01-01' }],
    ['an end before the beginning', { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }],
  ])('refuses %s', async (_what, body) => {
    const { id } = await bench.register(owner, { url: 'http://127.0.0.1:4999/' });
    const answer = await bench.call(owner, 'POST', `/${id}/recover`, body);
    expect([answer.status, answer.body.error.code]).toEqual([400, 'validation_error']);
  });
});

describe('deletion (R30)', () => {
  it('cancels pending deliveries, and attempts nothing more', async () => {
    const receiver = await bench.receiving(() => 500);
    const { id } = await bench.register(owner, { url: receiver.url });
    await bench.sendSms(owner);
    const { id: deliveryId } = await settled(owner, id, 'retrying');
    await bench.call(owner, 'DELETE', `/${id}`);
    const reach = { accountId: owner.accountId, environment: undefined };
    const kept = await bench.gateway.parts.stores.deliveries.find(reach, deliveryId);
    expect(kept).toMatchObject({
      status: 'canceled',
      nextRetryAt: null,
      attempts: 1,
      errorMessage: 'The endpoint was deleted.',
    });
  });

  it('keeps the attempt in progress, and its answer', async () => {
    const { promise, resolve: finish } = Promise.withResolvers<number>();
    const receiver = await bench.receiving(() => promise);
    const { id } = await bench.register(owner, { url: receiver.url });
    await bench.sendSms(owner);
    await eventually(() => receiver.received.length === 1);
    const testing = bench.call(owner, 'POST', `/${id}/test`);
    await eventually(() => receiver.received.length === 2);
    await bench.call(owner, 'DELETE', `/${id}`);
    finish(200);
    const kept = {
      status: 'canceled',
      httpStatus: 200,
      attempts: 1,
      responseBody: 'ok',
      nextRetryAt: null,
      errorMessage: 'The endpoint was deleted.',
    };
    const { body: tested } = await testing;
    expect(tested).toMatchObject({ success: true, delivery: { ...kept, event: 'webhook.test' } });
    expect(tested.delivery.attemptLog).toMatchObject([{ httpStatus: 200, errorMessage: null }]);
    const deliveryId = String(receiver.received[0]?.headers['x-service-delivery']);
    const { deliveries } = bench.gateway.parts.stores;
    const reach = { accountId: owner.accountId, environment: undefined };
    await eventually(async () => (await deliveries.find(reach, deliveryId))?.attempts === 1);
    expect(await deliveries.find(reach, deliveryId)).toMatchObject(kept);
    expect((await deliveries.attempts(owner.accountId, [deliveryId])).get(deliveryId)).toMatchObject([
      { httpStatus: 200 },
    ]);
  });
});

describe('fairness between webhooks', () => {
  it('at most 10 attempts of one webhook are in flight, while others are served at once', async () => {
    let most = 0;
    const dead = await rawReceiver(() => {
      most = Math.max(most, dead.open);
    });
    try {
      const { id } = await bench.register(owner, { url: `http://127.0.0.1:${dead.port}/`, maxRetries: 0 });
      for (let index = 0; index < 3; index += 1) {
        const to = Array.from(
          { length: 200 },
          (_, number) => `+2567001${String(index * 200 + number).padStart(5, '0')}`,
        );
        const sent = await bench.gateway.call('POST', '/developers/sms', {
          key: owner.key,
          body: { to: to.join(','), message: 'Hi' },
        });
        expect(sent.status).toBe(200);
      }
      await eventually(() => dead.open === 10);
      await eventually(async () => (await bench.deliveries(owner, id)).pagination.total > 500);
      const receiver = await bench.receiving();
      const live = await bench.gateway.createAccount();
      await bench.register(live, { url: receiver.url });
      // Each attempt on the dead endpoint takes 10 s. Most events of the other account must not wait for such an
      // attempt.
      let waited = 0;
      for (let index = 0; index < 5; index += 1) {
        const begun = dead.requests.length;
        const messageId = await bench.sendSms(live);
        await receiver.waitFor((hook) => hook.body.messageId === messageId);
        if (dead.requests.length > begun) waited += 1;
      }
      expect(waited).toBeLessThan(3);
      expect(most).toBe(10);
      await bench.call(owner, 'DELETE', `/${id}`);
    } finally {
      await dead.close();
    }
  });
});
