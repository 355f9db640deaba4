import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SUBMIT_DEADLINE_MS } from '../../src/domain/messages/message.ts';
import { sidCandidates } from '../../src/domain/messages/sid-keys.ts';
import { transitionRecipients } from '../../src/domain/messages/transition-recipients.ts';
import type { SubmitOutcome } from '../../src/domain/ports/provider.ts';
import { SubmitOutcomes } from '../../src/workers/submit/submit-outcomes.ts';
import { silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { machineClock, machineIds } from '../support/system.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

describe('status changes of recipients (R13)', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway();
    sql = await openSql(gateway.database);
  });
  afterAll(async () => {
    await sql?.close();
    await gateway?.stop();
  });

  it("that come late change nothing, and the carrier's id from them is not stored", async () => {
    const { key } = await gateway.createAccount();
    const body = { to: '+256700000011', message: 'Hello' };
    const { id } = (await gateway.call('POST', '/developers/sms', { key, body })).body;
    const state = () => gateway.call('GET', `/developers/sms/${id}`, { key });
    const before = await eventually(async () => {
      const { body: shown } = await state();
      return shown.status === 'delivered' && shown;
    });
    const sids = () => sql.query('SELECT sid_key FROM provider_sids WHERE message_id = $1', [id]);
    const known = await sids();
    expect(known).toHaveLength(1);
    const late = { from: 'pending', to: 'sent', at: new Date(), provider: 'simulator', error: null } as const;
    const { messages, done } = await withUnitOfWork(gateway, (uow) =>
      uow.run((tx) =>
        transitionRecipients(
          tx,
          machineIds,
          [id],
          [{ ...late, messageId: id, position: 0, sids: ['late'] }],
          new Date(),
        ),
      ),
    );
    expect([done.size, messages.get(id)?.status]).toEqual([0, 'delivered']);
    expect(await sids()).toEqual(known);
    expect((await state()).body).toEqual(before);
  });

  /** Records a carrier's answer that was received at `at`, before the database was away. */
  const recordLate = (
    id: string,
    at: Date,
    outcome: SubmitOutcome = { kind: 'rejected', code: 'refused', reason: 'It was refused.' },
  ) =>
    withUnitOfWork(gateway, (uow) =>
      new SubmitOutcomes(
        uow,
        { clock: machineClock, ids: machineIds },
        { isFault: () => false, logger: silentLogger },
      ).record({
        message: { id, channel: 'sms', expiresAt: new Date(Date.now() + SUBMIT_DEADLINE_MS) },
        position: 0,
        routeKey: 'sms',
        provider: 'simulator',
        attempt: 0,
        outcome,
        possiblySent: false,
        at,
        job: { held: { id, queue: 'submit' }, unrecorded: 2 },
        signal: new AbortController().signal,
      }),
    );

  it('that waited for the database count as recorded now, so that a recovery since then includes them', async () => {
    const { key } = await gateway.createAccount();
    const call = (method: string, path: string, body: object) =>
      gateway.call(method, `/developers${path}`, { key, body });
    const endpoint = { url: 'http://127.0.0.1:4999/', events: ['sms.failed'], maxRetries: 0 };
    const { id: webhookId } = (await call('POST', '/webhooks', endpoint)).body.webhook;
    await call('PUT', `/webhooks/${webhookId}`, { isActive: false });
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = (await call('POST', '/sms', { to: '0700000011', message: 'Hello', scheduledFor })).body;
    const since = new Date();
    const refusedAt = new Date(since.getTime() - 600_000);
    await recordLate(id, refusedAt);
    const { body: feed } = await gateway.call('GET', '/developers/events', { key });
    expect(Date.parse(feed.data[0].timestamp)).toBeGreaterThanOrEqual(since.getTime());
    const { body: shown } = await gateway.call('GET', `/developers/sms/${id}`, { key });
    const failed = expect.objectContaining({ status: 'failed', at: refusedAt.toISOString() });
    expect(shown.timeline).toContainEqual(failed);
    await call('PUT', `/webhooks/${webhookId}`, { isActive: true });
    const recovered = await call('POST', `/webhooks/${webhookId}/recover`, { since: since.toISOString() });
    expect(recovered.body).toEqual({ queued: 1 });
  });

  it('that waited for the database, with a report that arrived meanwhile, have events of now, in the order of time', async () => {
    const { key } = await gateway.createAccount();
    const call = (method: string, path: string, body?: object) =>
      gateway.call(method, `/developers${path}`, { key, ...(body && { body }) });
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = (await call('POST', '/sms', { to: '0700000011', message: 'Hello', scheduledFor })).body;
    const since = new Date();
    const sentAt = new Date(since.getTime() - 600_000);
    const failedAt = new Date(since.getTime() - 300_000);
    const error = { code: 'UNDELIV', message: 'The phone is off.' };
    await sql.query(
      `INSERT INTO unmatched_reports (id, provider, sid, sid_keys, report, received_at)
       VALUES ($1, 'simulator', 'late-1', $2, $3, $4)`,
      [id, sidCandidates('late-1'), JSON.stringify({ sid: 'late-1', status: 'failed', error }), failedAt],
    );
    await recordLate(id, sentAt, { kind: 'accepted', sid: 'late-1' });
    const { body: feed } = await call('GET', '/events');
    expect(feed.data.map(({ event }: { event: string }) => event)).toEqual(['sms.sent', 'sms.failed']);
    for (const { timestamp } of feed.data)
      expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(since.getTime());
    const { timeline } = (await call('GET', `/sms/${id}`)).body;
    const at = (status: string) => timeline.find((entry: { status: string }) => entry.status === status)?.at;
    expect([at('sent'), at('failed')]).toEqual([sentAt.toISOString(), failedAt.toISOString()]);
  });

  it('that waited for the database refund at the time they are recorded, so that the ledger of a period adds up', async () => {
    const from = new Date();
    const account = await gateway.createAccount();
    const send = (body: object) =>
      gateway.call('POST', '/developers/sms', {
        key: account.key,
        body: { to: '+256700000011', message: 'Hello', ...body },
      });
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = (await send({ scheduledFor })).body;
    await recordLate(id, new Date(from.getTime() - 600_000));
    await send({});
    await send({});
    const { body } = await graphql(
      gateway,
      'query ($from: DateTime) { ledger(from: $from) { nodes { kind amount } totalCount } }',
      { token: await signIn(gateway, account), variables: { from } },
    );
    expect(body.data.ledger).toEqual({
      totalCount: 5,
      nodes: [
        { kind: 'CHARGE', amount: -30 },
        { kind: 'CHARGE', amount: -30 },
        { kind: 'REFUND', amount: 30 },
        { kind: 'CHARGE', amount: -30 },
        { kind: 'OPENING', amount: 100_000 },
      ],
    });
  });
});
