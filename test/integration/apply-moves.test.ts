import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemIds } from '../../src/crypto/ids.ts';
import { applyMoves } from '../../src/domain/messages/apply-moves.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { openSql, type TestSql } from '../support/sql.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

describe('moves of recipients (decision 13)', () => {
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

  it('that come late change nothing, and what the carrier called the message then is not remembered', async () => {
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
        applyMoves(tx, systemIds, [id], [{ ...late, messageId: id, position: 0, sids: ['late'] }]),
      ),
    );
    expect([done.size, messages.get(id)?.status]).toEqual([0, 'delivered']);
    expect(await sids()).toEqual(known);
    expect((await state()).body).toEqual(before);
  });
});
