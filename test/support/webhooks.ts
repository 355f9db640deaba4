import { withKnex } from './database.ts';
import { eventually } from './eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from './gateway.ts';
import { type ReceivedHook, startWebhookReceiver } from './webhook-receiver.ts';

/** Starts a gateway with helper functions for webhook tests. `stop` also stops all receivers. */
export async function startWebhookBench(environment: Record<string, string> = {}) {
  const gateway: TestGateway = await startTestGateway(environment);
  const receivers: { stop(): Promise<void> }[] = [];
  const call = (owner: TestAccount, method: string, path: string, body?: unknown): Promise<Answer> =>
    gateway.call(method, `/developers/webhooks${path}`, {
      key: owner.key,
      ...(body === undefined ? {} : { body }),
    });
  return {
    gateway,
    call,
    async receiving(answer?: (hook: ReceivedHook, count: number) => number | Promise<number>) {
      const receiver = await startWebhookReceiver(answer);
      receivers.push(receiver);
      return receiver;
    },
    /** Registers an endpoint. Default events: sms.sent. */
    async register(owner: TestAccount, body: { url: string } & Record<string, unknown>) {
      const answer = await call(owner, 'POST', '', { events: ['sms.sent'], ...body });
      if (answer.status !== 201) throw new Error(answer.text);
      return { id: answer.body.webhook.id as string, secret: answer.body.secret as string };
    },
    /** Sends an SMS that the simulator accepts. Resolves with the message's id. */
    async sendSms(owner: TestAccount, to = '+256700123456'): Promise<string> {
      const body = { to, message: 'Hello' };
      const sent = await gateway.call('POST', '/developers/sms', { key: owner.key, body });
      if (sent.status !== 200) throw new Error(sent.text);
      return sent.body.id;
    },
    async deliveries(owner: TestAccount, id: string, query = '') {
      return (await call(owner, 'GET', `/${id}/deliveries${query}`)).body;
    },
    /** Resolves when there is no job for the delivery. With `inQueue`, jobs that are running do not count. */
    noJobFor(deliveryId: string, { inQueue = false } = {}) {
      const named = `%${deliveryId}%`;
      return withKnex(gateway.database.connection, (knex) =>
        eventually(async () => {
          const { rows } = await knex.raw(
            `SELECT FROM pgboss.job WHERE data::text LIKE ? AND state < ?
             UNION ALL SELECT FROM job_leases WHERE job::text LIKE ? AND NOT ?`,
            [named, inQueue ? 'active' : 'completed', named, inQueue],
          );
          return rows.length === 0;
        }),
      );
    },
    async stop() {
      await gateway.stop();
      for (const receiver of receivers) await receiver.stop();
    },
  };
}
