/**
 * The twin: a simple implementation to compare with. It uses Express with express.json, Knex's query builder, and one
 * transaction a request. It writes the same rows as the gateway for an accepted message, but makes no checks.
 */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express from 'express';
import knexModule from 'knex';
import { STORED_ANSWER } from './one-by-one.ts';

const connection = JSON.parse(process.env.TWIN_PG ?? '{}');
const knex = knexModule({ client: 'pg', connection, pool: { min: 0, max: 10 } });
const { id: account } = await knex('accounts').first('id');
const DAY_MS = 86_400_000;

const app = express();
app.use(express.json());
app.post('/api/v1/developers/sms', async (request, response) => {
  const id = randomUUID();
  await knex.transaction(async (trx) => {
    const found = await trx('accounts').where({ id: account }).forUpdate().first();
    const balance = Number(found.balance_minor) - 30;
    const seq = Number(found.sms_seq) + 1;
    const ledgerSeq = Number(found.ledger_seq) + 1;
    const at = new Date();
    await trx('accounts')
      .where({ id: account })
      .update({ balance_minor: balance, ledger_seq: ledgerSeq, sms_seq: seq, last_accepted_at: at });
    await trx('messages').insert({
      id,
      account_id: account,
      seq,
      cost_minor: 30,
      unit_price_minor: 30,
      created_at: at,
      expires_at: new Date(at.getTime() + 3 * DAY_MS),
      channel: 'sms',
      environment: 'production',
      currency: 'UGX',
      api_key_id: 'bench',
      sender: 'SERVICE',
      content: request.body.message,
    });
    await trx('recipients').insert({
      message_id: id,
      position: 0,
      account_id: account,
      address: request.body.to,
      cost_minor: 30,
      status: 'pending',
    });
    await trx('ledger_entries').insert({
      account_id: account,
      seq: ledgerSeq,
      amount_minor: -30,
      balance_after_minor: balance,
      message_id: id,
      kind: 'charge',
      created_at: at,
    });
    await trx('usage_deltas').insert({
      account_id: account,
      hour: new Date(at.getTime() - (at.getTime() % 3_600_000)),
      channel: 'sms',
      environment: 'production',
      status: 'pending',
      api_key_id: 'bench',
      block: Math.floor((seq - 1) / 64),
      bitmap: BigInt.asIntN(64, 1n << BigInt((seq - 1) % 64)).toString(),
      messages: 1,
      cost_minor: 30,
    });
    await trx('pgboss.job').insert({
      name: 'submit',
      data: JSON.stringify({ messageIds: [id], positions: {}, attempt: 0 }),
    });
    const key = request.get('idempotency-key');
    if (key !== undefined) {
      await trx('idempotency_records').insert({
        account_id: account,
        environment: 'production',
        route: 'sms',
        key,
        message_id: id,
        status_code: 200,
        body: STORED_ANSWER,
        expires_at: new Date(at.getTime() + DAY_MS),
      });
    }
  });
  response.json({ id, status: 'pending' });
});
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
