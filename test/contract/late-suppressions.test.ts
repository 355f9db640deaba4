/** Tests that a message which waits does not leave to a person who asked meanwhile to be left alone. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql, signIn } from '../support/graphql.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';
import { countStatements } from '../support/statements.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const HOUR_MS = 3_600_000;
const clock = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16);
/** Quiet for Kenya now, whatever the time of day. */
const QUIET_HOURS = `254=${clock(-2 * HOUR_MS)}-${clock(2 * HOUR_MS)} UTC`;
const SUPPRESSED = { status: 'failed', error: { code: 'recipient_suppressed' } };
/** Resolves when the message is old enough to be checked again: one of the last second has just been checked (R530). */
const isOld = ({ createdAt }: { createdAt: string }) =>
  eventually(() => Date.now() - Date.parse(createdAt) > 1_200);
const ONE_LEFT_OUT =
  'One copy (cc or bcc) was left out: its recipient was suppressed after the message was accepted.';
let numbers = 0;
const newNumber = (country = '25670') => {
  numbers += 1;
  return `+${country}${String(numbers * 7_919).padStart(7, '0')}`;
};

describe('a person who is suppressed while a message waits', () => {
  let smsc: Smsc;
  /** A carrier that takes one message at a time, of numbers that begin with 25675. */
  let slow: Smsc;
  let mails: MailServer;
  let gateway: TestGateway;
  let account: TestAccount;
  let sql: TestSql;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  beforeAll(async () => {
    [smsc, slow, mails] = [await startSmsc(), await startSmsc(), await startMailServer()];
    gateway = await startTestGateway({
      SMS_ROUTES: `*=${smsc.url},25675=${slow.url}?window=1`,
      EMAIL_URL: mails.url,
      QUIET_HOURS,
      PUMPING_WATCH: 'on',
    });
    account = await gateway.createAccount();
    sql = await openSql(gateway.database);
    receiver = await startWebhookReceiver();
    await call('POST', '/developers/webhooks', { url: receiver.url, events: ['sms.sent', 'sms.failed'] });
  });
  afterAll(async () => {
    await receiver?.stop();
    await sql?.close();
    await gateway?.stop();
    await mails?.stop();
    await smsc?.stop();
    await slow?.stop();
  });

  const call = (method: string, path: string, body?: object) =>
    gateway.call(method, path, { key: account.key, ...(body ? { body } : {}) });
  const send = async (to: string, more: object = {}) => {
    const sent = await call('POST', '/developers/sms', { to, message: 'Mangoes', ...more });
    expect(sent.status).toBe(200);
    return sent.body;
  };
  const suppress = async (address: string, scope = 'all', channel = 'sms') => {
    expect((await call('POST', '/developers/suppressions', { channel, address, scope })).status).toBe(201);
  };
  const balance = async () => (await call('GET', '/account')).body.balance;
  const recipientsOf = async (id: string) =>
    (await call('GET', `/developers/messages/${id}`)).body.recipients;
  const settled = (id: string) =>
    eventually(async () => {
      const recipients = await recipientsOf(id);
      return recipients.every(({ status }: { status: string }) => status !== 'pending') && recipients;
    });
  const textsTo = (to: string) => smsc.messages().filter((message) => message.to === to.slice(1));
  /** The notes about copies in the timeline of a message. */
  const notesOf = async (id: string) => {
    const { timeline } = (await call('GET', `/developers/messages/${id}`)).body;
    return timeline
      .filter(({ detail = '' }) => detail.includes('left out'))
      .map(({ status, detail }: { status: string; detail: string }) => ({ status, detail }));
  };
  const soon = () => new Date(Date.now() + 2_500).toISOString();

  it('does not get a scheduled message, which is refunded and reported, but the others do (R530)', async () => {
    const [ann, ben] = [newNumber(), newNumber()];
    const before = await balance();
    const { id } = await send(`${ann},${ben}`, { scheduledFor: soon() });
    await suppress(ann);
    const [first, second] = await settled(id);
    expect(first).toMatchObject({ ...SUPPRESSED, refunded: 30 });
    expect(second.status).toBe('sent');
    expect([textsTo(ann), textsTo(ben)].map((texts) => texts.length)).toEqual([0, 1]);
    const failed = await receiver.waitFor(({ body }) => body.event === 'sms.failed' && body.messageId === id);
    expect(failed.body.data).toMatchObject({
      to: ann,
      errorCode: 'recipient_suppressed',
      stage: 'submission',
      permanent: true,
    });
    expect(await balance()).toBe(before - 30);
    const { explanation } = (await call('GET', `/developers/messages/${id}?explain=true`)).body;
    expect(explanation.causes).toContainEqual(
      expect.objectContaining({ cause: 'recipient_suppressed', recipients: 1 }),
    );
    await checkLedger(sql, account.accountId);
  });

  it('gets transactional messages if only marketing is suppressed (R530)', async () => {
    const to = newNumber();
    const scheduledFor = soon();
    const offer = await send(to, { scheduledFor, purpose: 'marketing' });
    const receipt = await send(to, { scheduledFor, message: 'Receipt' });
    await suppress(to, 'marketing');
    expect(await settled(offer.id)).toMatchObject([SUPPRESSED]);
    expect(await settled(receipt.id)).toMatchObject([{ status: 'sent' }]);
    expect(textsTo(to).map(({ text }) => text)).toEqual(['Receipt']);
  });

  it('does not get what quiet hours held, but the others do when these end (R530)', async () => {
    const database = await createTestDatabase();
    try {
      const routes = { SMS_ROUTES: `*=${smsc.url}` };
      const quiet = await startTestGateway({ ...routes, QUIET_HOURS }, database);
      const { key } = await quiet.createAccount(1_000);
      const [ann, ben] = [newNumber('25470'), newNumber('25470')];
      const body = { to: `${ann},${ben}`, message: 'Mangoes', purpose: 'marketing' };
      const sent = await quiet.call('POST', '/developers/sms', { key, body });
      expect(sent.body.metadata.heldUntil).toEqual(expect.any(String));
      const stop = { channel: 'sms', address: ann, scope: 'marketing' };
      await quiet.call('POST', '/developers/suppressions', { key, body: stop });
      await quiet.stop();
      await isOld(sent.body);
      // The second gateway has no quiet hours, as if they were over, and its jobs are due.
      await using own = await openSql(database);
      await own.query(
        `UPDATE pgboss.job SET start_after = now() WHERE data->'messageIds' ? $1::text AND state = 'created'`,
        [sent.body.id],
      );
      await using second = await startTestGateway(routes, database);
      const recipients = await eventually(async () => {
        const found = await second.call('GET', `/developers/messages/${sent.body.id}`, { key });
        return found.body.status === 'sent' && found.body.recipients;
      });
      expect(recipients).toMatchObject([{ ...SUPPRESSED, refunded: 30 }, { status: 'sent' }]);
      expect([textsTo(ann), textsTo(ben)].map((texts) => texts.length)).toEqual([0, 1]);
    } finally {
      await database.drop();
    }
  });

  it('does not get what was held for review and then released (R530)', async () => {
    const block = '+256771234';
    const to = Array.from({ length: 20 }, (_, index) => `${block}${String(index + 100)}`);
    const before = await balance();
    const held = await send(to.join());
    expect(held.statusReason).toBe('held_for_review');
    await suppress(to[7] as string);
    await isOld(held);
    const token = await signIn(gateway, account);
    const review = await graphql(
      gateway,
      `mutation { reviewHeld(block: "${block}", decision: RELEASE) { recipients cost } }`,
      { token },
    );
    expect(review.body.errors).toBeUndefined();
    const recipients = await settled(held.id);
    expect(recipients[7]).toMatchObject({ ...SUPPRESSED, refunded: 30 });
    expect(recipients.filter(({ status }: { status: string }) => status === 'sent')).toHaveLength(19);
    expect(textsTo(to[7] as string)).toEqual([]);
    expect(await balance()).toBe(before - 19 * 30);
    await checkLedger(sql, account.accountId);
  });

  it('does not get the retry of a message, but the confirmation of a STOP is retried (R381, R530)', async () => {
    const [stopped, answered] = [newNumber(), newNumber()];
    await send(answered);
    await eventually(() => textsTo(answered).length === 1);
    let submissions = 0;
    smsc.behave({
      answer: ({ destination }) => {
        const isFirst = destination.address === stopped.slice(1) || submissions < 2;
        submissions += 1;
        return isFirst ? 'throttle' : 'accept';
      },
    });
    const { id } = await send(stopped);
    await eventually(() => submissions === 1);
    await suppress(stopped);
    const said = Promise.withResolvers<number>();
    const [message] = textsTo(answered);
    const from = { source_addr_ton: 1, source_addr: answered.slice(1) };
    const stop = { ...from, destination_addr: message?.from ?? '', short_message: Buffer.from('STOP') };
    smsc.send('deliver_sm', stop, ({ command_status }) => said.resolve(command_status));
    expect(await said.promise).toBe(0);
    expect(await settled(id)).toMatchObject([{ ...SUPPRESSED, refunded: 30 }]);
    // The carrier saw the confirmation twice, because it refused it once, and the other message only once.
    await eventually(() => textsTo(answered).filter(({ text }) => text.includes('START')).length === 2);
    smsc.behave({ answer: 'accept' });
    expect(textsTo(stopped)).toHaveLength(1);
  });

  it('gets no copy of an email either (R530)', async () => {
    const body = {
      to: 'ann@example.com',
      cc: ['Ben@example.com', 'cy@example.com'],
      subject: 's',
      text: 'x',
    };
    const sent = await call('POST', '/developers/email', { ...body, scheduledFor: soon() });
    expect(sent.status).toBe(200);
    await suppress('ben@example.com', 'all', 'email');
    const mail = await mails.waitFor(({ raw }) => raw.includes(sent.body.id));
    expect(mail.to).toEqual(['ann@example.com', 'cy@example.com']);
    expect(mail.raw).not.toContain('Ben@');
    await settled(sent.body.id);
    expect(await notesOf(sent.body.id)).toEqual([{ status: 'sent', detail: ONE_LEFT_OUT }]);
    const token = await signIn(gateway, account);
    const query = `{ message(id: "${sent.body.id}") { timeline { status detail } } }`;
    const { body: shown } = await graphql(gateway, query, { token });
    expect(shown.data.message.timeline).toContainEqual({ status: 'sent', detail: ONE_LEFT_OUT });
  });

  it('gets no copy that a mail server deferred, but the others do (R558)', async () => {
    mails.behave({
      rcpt: (to, count) => (to.startsWith('deferred') && count === 1 ? 450 : 'accept'),
    });
    const sent = await call('POST', '/developers/email', {
      to: 'ann@example.com',
      cc: ['deferred-ben@example.com'],
      bcc: ['deferred-cy@example.com', 'deferred-dan@example.com'],
      subject: 's',
      text: 'x',
    });
    expect(sent.status).toBe(200);
    const ownMails = () => mails.received.filter(({ raw }) => raw.includes(sent.body.id));
    await eventually(() => ownMails().length === 1);
    expect(await settled(sent.body.id)).toMatchObject([{ status: 'sent' }]);
    await suppress('deferred-ben@example.com', 'all', 'email');
    await suppress('deferred-dan@example.com', 'all', 'email');
    await eventually(() => ownMails().length === 2);
    expect(ownMails().map(({ to }) => to)).toEqual([['ann@example.com'], ['deferred-cy@example.com']]);
    expect(ownMails()[1]?.raw).not.toContain('deferred-ben');
    const detail =
      '2 copies (cc or bcc) were left out: their recipients were suppressed after the message was accepted.';
    expect(await notesOf(sent.body.id)).toEqual([{ status: 'sent', detail }]);
    mails.behave({ rcpt: () => 'accept' });
  });

  it('gets no SMS that waited for a place in the window of its carrier, but the others do (R557)', async () => {
    const [first, ann, ben] = [newNumber('25675'), newNumber('25675'), newNumber('25675')];
    slow.behave({ answer: ({ destination }) => (`+${destination.address}` === first ? 'late' : 'accept') });
    const before = await balance();
    await send(first);
    await eventually(() => slow.received.length > 0);
    const waiting = await send(`${ann},${ben}`);
    await isOld(waiting);
    await suppress(ann);
    slow.answerLate();
    const [stopped, other] = await settled(waiting.id);
    expect(stopped).toMatchObject({ ...SUPPRESSED, refunded: 30 });
    expect(other).toMatchObject({ status: 'sent' });
    expect(slow.messages().map(({ to }) => `+${to}`)).toEqual([first, ben]);
    expect(await balance()).toBe(before - 2 * 30);
    await checkLedger(sql, account.accountId);
    slow.behave({ answer: 'accept' });
  });

  it('costs one statement for all that waited, and none for those that did not (R557)', async () => {
    await suppress(newNumber());
    const looks = (texts: readonly string[]) => texts.filter((text) => /FROM suppressions/.test(text)).length;
    await eventually(async () => {
      using statements = countStatements();
      const { id } = await send(newNumber('25675'));
      const [{ sentAt }] = await settled(id);
      const { createdAt } = (await call('GET', `/developers/messages/${id}`)).body;
      // A busy machine may take longer than a second. Then the worker has to look.
      if (Date.parse(sentAt) - Date.parse(createdAt) > 800) return false;
      // The send itself looks once.
      expect(looks(statements.texts())).toBe(1);
      return true;
    });
    slow.behave({ answer: ({ index }) => (index === begun ? 'late' : 'accept') });
    const begun = slow.received.length;
    await send(newNumber('25675'));
    await eventually(() => slow.received.length > begun);
    const to = Array.from({ length: 40 }, () => newNumber('25675'));
    const waiting = await send(to.join());
    await isOld(waiting);
    using statements = countStatements();
    slow.answerLate();
    const recipients = await settled(waiting.id);
    expect(recipients.every(({ status }: { status: string }) => status === 'sent')).toBe(true);
    expect(looks(statements.texts())).toBeGreaterThan(0);
    expect(looks(statements.texts())).toBeLessThan(to.length / 4);
    slow.behave({ answer: 'accept' });
  });

  it('gets nothing while the suppressions cannot be read, and the message is tried again (R557)', async () => {
    const [first, ann] = [newNumber('25675'), newNumber('25675')];
    slow.behave({ answer: ({ destination }) => (`+${destination.address}` === first ? 'late' : 'accept') });
    await send(first);
    await eventually(() => slow.received.at(-1)?.destination.address === first.slice(1));
    const waiting = await send(ann);
    await isOld(waiting);
    await sql.query('ALTER TABLE suppressions RENAME TO suppressions_away');
    try {
      slow.answerLate();
      const isNoted = async () => {
        const { body } = await call('GET', `/developers/messages/${waiting.id}`);
        return body.timeline.some(({ detail = '' }) => detail.startsWith('Unavailable: it is not known'));
      };
      await eventually(isNoted);
      expect(slow.received.at(-1)?.destination.address).toBe(first.slice(1));
    } finally {
      await sql.query('ALTER TABLE suppressions_away RENAME TO suppressions');
    }
    expect(await settled(waiting.id)).toMatchObject([{ status: 'sent' }]);
    slow.behave({ answer: 'accept' });
  });
});
