import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import type { TestAccount } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { countStatements } from '../support/statements.ts';
import { startWebhookBench } from '../support/webhooks.ts';

const MANY = `mutation ($id: ID!, $d: [ID!]!, $dry: Boolean) {
  redeliverMany(webhookId: $id, deliveryIds: $d, dryRun: $dry) { queued userErrors { index path code message } }
}`;
const ALREADY = 'DELIVERY_ALREADY_QUEUED';

describe('redelivery of a selection (R411)', () => {
  let bench: Awaited<ReturnType<typeof startWebhookBench>>;
  beforeAll(async () => {
    bench = await startWebhookBench();
  });
  afterAll(() => bench?.stop());

  const ask = (token: string, id: string, d: readonly string[], dry = false) =>
    graphql(bench.gateway, MANY, { token, variables: { id, d, dry } });
  const many = async (token: string, id: string, d: readonly string[], dry = false) => {
    const { body } = await ask(token, id, d, dry);
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body.data.redeliverMany;
  };
  const error = (index: number, code: string, message = expect.stringMatching(/\w/)) => ({
    index,
    path: `deliveryIds.${index}`,
    code,
    message,
  });

  /** Resolves with the ids of the webhook's deliveries, the oldest first, when there are `count` with this status. */
  const ended = (account: TestAccount, id: string, status: string, count: number): Promise<string[]> =>
    eventually(async () => {
      const { data } = await bench.deliveries(account, id, `?status=${status}&limit=100`);
      return data.length === count && data.map((delivery: { id: string }) => delivery.id).reverse();
    });

  /** Makes an account whose webhook has `count` failed deliveries. Answers of its receiver can be changed. */
  async function failing(count: number) {
    const account = await bench.gateway.createAccount();
    const token = await signIn(bench.gateway, account);
    const answers: { next: () => number | Promise<number> } = { next: () => 500 };
    const receiver = await bench.receiving(() => answers.next());
    const { id } = await bench.register(account, { url: receiver.url, maxRetries: 0 });
    for (let sent = 0; sent < count; sent += 1) await bench.sendSms(account);
    const failed = await ended(account, id, 'failed', count);
    const postsOf = (deliveryId: string) =>
      receiver.received.filter(({ headers }) => headers['x-service-delivery'] === deliveryId).length;
    return { account, token, answers, receiver, id, failed, postsOf };
  }

  it('is posted under the same ids, once for a double click, and what was left is told by its place', async () => {
    const { account, token, answers, receiver, id, failed, postsOf } = await failing(2);
    const [first = '', second = ''] = failed;
    const elsewhere = await bench.receiving(() => 500);
    const other = await bench.register(account, { url: elsewhere.url, maxRetries: 0 });
    const held = Promise.withResolvers<number>();
    answers.next = () => held.promise;
    await bench.sendSms(account);
    const [foreign = ''] = await ended(account, other.id, 'failed', 1);
    await eventually(() => receiver.received.length === 3);
    const [pending = ''] = await ended(account, id, 'pending', 1);

    const chosen = [first, foreign, pending, first.toUpperCase(), 'nonsense', second, randomUUID()];
    expect(await many(token, id, chosen)).toEqual({
      queued: 2,
      userErrors: [
        error(1, 'NOT_FOUND'),
        error(2, ALREADY, expect.stringContaining('first attempt is still to come')),
        error(4, 'NOT_FOUND'),
        error(6, 'NOT_FOUND'),
      ],
    });
    expect(await many(token, id, [first, second])).toEqual({
      queued: 0,
      userErrors: [error(0, ALREADY, expect.stringContaining('due already or under way')), error(1, ALREADY)],
    });

    held.resolve(200);
    await ended(account, id, 'success', 3);
    expect([first, second, pending].map(postsOf)).toEqual([2, 2, 1]);
    expect(elsewhere.received).toHaveLength(1);
    // A delivery that succeeded is posted again if somebody asks for it.
    expect(await many(token, id, [pending])).toEqual({ queued: 1, userErrors: [] });
    await eventually(() => postsOf(pending) === 2);
    await ended(account, id, 'success', 3);
    // A single retry is in the audit log, too (R28).
    const retry = 'mutation ($id: ID!) { redeliver(deliveryId: $id) { id } }';
    await graphql(bench.gateway, retry, { token, variables: { id: pending } });
    await eventually(() => postsOf(pending) === 3);
    const single = '{ auditLog(filter: { action: "webhook.retry" }) { nodes { target { id } after } } }';
    expect((await graphql(bench.gateway, single, { token })).body.data.auditLog.nodes).toEqual([
      { target: { id }, after: { deliveryId: pending } },
    ]);

    const log =
      '{ auditLog(filter: { action: "webhook.retryMany" }) { nodes { target { id } before after } } }';
    const { body } = await graphql(bench.gateway, log, { token });
    expect(body.data.auditLog.nodes).toEqual(
      [
        { selected: 1, queued: 1 },
        { selected: 2, queued: 0 },
        { selected: 3, queued: 2 },
      ].map((after) => ({ target: { id }, before: null, after })),
    );
  });

  it('reaches no delivery of another account or environment, and is refused to viewers', async () => {
    const { account, token, receiver, id, failed } = await failing(1);
    const stranger = await failing(1);
    expect(codesOf(await ask(stranger.token, id, failed))).toEqual(['NOT_FOUND']);
    const refused = { queued: 0, userErrors: [error(0, 'NOT_FOUND')] };
    expect(await many(stranger.token, stranger.id, failed)).toEqual(refused);
    const register = `mutation ($url: String!) {
      registerWebhook(input: { url: $url, events: ["sms.sent"], environment: SANDBOX }) { webhook { id } } }`;
    const { body } = await graphql(bench.gateway, register, { token, variables: { url: receiver.url } });
    expect(await many(token, body.data.registerWebhook.webhook.id, failed)).toEqual(refused);
    const viewer = await signIn(bench.gateway, await inviteMember(bench.gateway, token, 'VIEWER'));
    expect(codesOf(await ask(viewer, id, failed))).toEqual(['FORBIDDEN']);
    expect(await ended(account, id, 'failed', 1)).toEqual(failed);
    expect(receiver.received).toHaveLength(1);
  });

  it('has 1 to 100 deliveries of an active webhook', async () => {
    const { account, token, receiver, id, failed } = await failing(1);
    const fields = async (d: readonly string[]) => {
      const answer = await ask(token, id, d);
      expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
      return answer.body.errors[0].extensions.details.fields;
    };
    const bounds = [{ path: 'deliveryIds', message: 'must name 1 to 100 deliveries' }];
    expect(await fields([])).toEqual(bounds);
    expect(await fields(Array<string>(101).fill(failed[0] ?? ''))).toEqual(bounds);
    const unknown = await many(
      token,
      id,
      Array.from({ length: 100 }, () => randomUUID()),
    );
    expect([unknown.queued, unknown.userErrors.length]).toEqual([0, 100]);
    await bench.call(account, 'PUT', `/${id}`, { isActive: false });
    expect(await fields(failed)).toEqual([{ path: 'isActive', message: expect.any(String) }]);
    expect(receiver.received).toHaveLength(1);
  });

  it('takes as many statements for many deliveries as for one, and a dry run posts nothing', async () => {
    const { account, token, receiver, id, failed } = await failing(12);
    const statementsFor = async (chosen: readonly string[]) => {
      using counter = countStatements();
      expect(await many(token, id, chosen, true)).toEqual({ queued: chosen.length, userErrors: [] });
      return counter.ofRequests().filter((text) => /webhook_deliveries d|FROM webhooks /.test(text));
    };
    const one = await statementsFor(failed.slice(0, 1));
    expect(one.length).toBeGreaterThan(1);
    expect(await statementsFor(failed)).toEqual(one);
    expect(await ended(account, id, 'failed', 12)).toEqual(failed);
    expect(receiver.received).toHaveLength(12);
  });
});
