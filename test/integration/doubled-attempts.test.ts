import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AttemptRecord } from '../../src/domain/ports/webhook-stores.ts';
import { firstAttemptJobs } from '../../src/domain/webhooks/fan-out.ts';
import { eventually } from '../support/eventually.ts';
import type { TestAccount } from '../support/gateway.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';
import { startWebhookBench } from '../support/webhooks.ts';

let bench: Awaited<ReturnType<typeof startWebhookBench>>;
let owner: TestAccount;
beforeAll(async () => {
  bench = await startWebhookBench();
  owner = await bench.gateway.createAccount();
});
afterAll(() => bench?.stop());

/**
 * Creates a delivery whose first attempt runs twice. This happens if a process is suspended and another process takes
 * its job. The receiver answers the second attempt with the status `beside`, and the first one with the status given to
 * `finish`.
 */
async function doubled(maxRetries: number, beside: number) {
  const { promise, resolve: finish } = Promise.withResolvers<number>();
  const receiver = await bench.receiving((_hook, count) => [promise, beside][count - 1] ?? 200);
  const { id } = await bench.register(owner, { url: receiver.url, maxRetries });
  await bench.sendSms(owner);
  const first = await receiver.waitFor(() => true);
  const deliveryId = String(first.headers['x-service-delivery']);
  await withUnitOfWork(bench.gateway, (uow) =>
    uow.run((tx) => tx.jobs.enqueue(firstAttemptJobs([{ id: deliveryId, webhookId: id }]))),
  );
  const show = async () => (await bench.call(owner, 'GET', `/${id}/deliveries/${deliveryId}`)).body.delivery;
  const counting = (attempts: number) =>
    eventually(async () => {
      const delivery = await show();
      return delivery.attempts === attempts && delivery;
    });
  return { deliveryId, finish, counting, besides: await counting(1) };
}
const answers = (delivery: { attemptLog: { httpStatus: number }[] }) =>
  delivery.attemptLog.map(({ httpStatus }) => httpStatus);

describe('two attempts of one delivery at the same time', () => {
  it('succeed if one got a 2xx, even if it ended last, and both are logged', async () => {
    const { finish, counting, besides } = await doubled(0, 409);
    expect(besides).toMatchObject({ status: 'failed', httpStatus: 409 });
    finish(200);
    const delivery = await counting(2);
    expect(delivery).toMatchObject({ status: 'success', httpStatus: 200, errorMessage: null });
    expect(answers(delivery)).toEqual([409, 200]);
  });

  it('stay a success when the other one fails later', async () => {
    const { finish, counting, besides } = await doubled(3, 200);
    expect(besides.status).toBe('success');
    finish(500);
    const delivery = await counting(2);
    expect(delivery).toMatchObject({ status: 'success', httpStatus: 200, nextRetryAt: null });
    expect(answers(delivery)).toEqual([200, 500]);
  });

  it('cause one retry when both fail', async () => {
    const { deliveryId, finish, counting, besides } = await doubled(2, 500);
    finish(503);
    const both = await counting(2);
    expect(both).toMatchObject({ status: 'retrying', httpStatus: 500, nextRetryAt: besides.nextRetryAt });
    const delivery = await counting(3);
    expect(delivery).toMatchObject({ status: 'success', nextRetryAt: null });
    expect(answers(delivery)).toEqual([500, 503, 200]);
    await bench.noJobFor(deliveryId);
    expect(await counting(3)).toEqual(delivery);
  });

  it('are logged once each when they are recorded together', async () => {
    const { deliveryId, finish, counting } = await doubled(0, 500);
    finish(500);
    await counting(2);
    const recordOf = (httpStatus: number, at: Date): AttemptRecord => ({
      deliveryId,
      accountId: owner.accountId,
      dueAt: null,
      status: httpStatus === 200 ? 'success' : 'failed',
      nextRetryAt: null,
      responseBody: null,
      attempt: { at, httpStatus, durationMs: 1, errorMessage: null },
    });
    const now = Date.now();
    const records = [recordOf(200, new Date(now)), recordOf(502, new Date(now + 1))];
    const record = () =>
      withUnitOfWork(bench.gateway, (uow) => uow.run((tx) => tx.deliveries.record(records)));
    const stands = await record();
    expect(records.map((each) => stands.get(each)?.attempts)).toEqual([3, 4]);
    // Record the same attempts again, as after a commit whose answer was lost.
    expect((await record()).size).toBe(0);
    const delivery = await counting(4);
    expect(delivery.status).toBe('success');
    expect(answers(delivery)).toEqual([500, 500, 200, 502]);
  });
});
