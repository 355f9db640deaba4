/** Tests WhatsApp numbers that belong to an account, beside the one that all others share (R550 to R556). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { examine } from '../../src/cli/doctor.ts';
import {
  CLOUD_API,
  type CloudApiAnswer,
  type CloudApiRequest,
  callBack,
  inboundCallback,
  noSuchObject,
  recordOf,
  refused,
  startCloudApi,
  statusCallback,
  taken,
} from '../support/cloud-api.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn, signInOperator } from '../support/graphql.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const TEMPLATE = { type: 'template', template: { name: 'order_shipped', language: 'en_US' } };
const SHARED = CLOUD_API.phoneNumberId;
const ASSIGN = `mutation ($accountId: ID!, $phoneNumberId: String!, $number: String!) {
  assignWhatsAppNumber(accountId: $accountId, phoneNumberId: $phoneNumberId, number: $number) {
    id accountId environment channel status number phoneNumberId senderId domain purposes verifiedAt } }`;
const REMOVE = 'mutation ($accountId: ID!) { removeWhatsAppNumber(accountId: $accountId) }';
const SENDERS = '{ senders { nodes { accountId channel number phoneNumberId } } }';
const HOUR_MS = 3_600_000;
/** The default sender ID. Messages from the shared number are from it. */
const DEFAULT = 'SERVICE';

describe('WhatsApp numbers of accounts', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let platform: Awaited<ReturnType<typeof startCloudApi>>;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let operator: string;
  let answer: (request: CloudApiRequest) => CloudApiAnswer;
  /** What the platform says of a number. It knows the numbers of `freshNumber` and writes them as people do. */
  const known = (id: string) =>
    id === SHARED ? recordOf('+256 700 000000') : recordOf(`+256 771 00${id.slice(-4)}`);
  let record: Parameters<typeof startCloudApi>[1] & {} = known;
  let counted = 0;
  const take = ({ body }: CloudApiRequest) => {
    counted += 1;
    return taken(body.to, `wamid.N${counted}`);
  };

  beforeAll(async () => {
    platform = await startCloudApi(
      (request) => answer(request),
      (id) => record(id),
    );
    receiver = await startWebhookReceiver();
    answer = take;
    const settings = {
      WHATSAPP_URL: platform.url,
      WHATSAPP_PHONE_NUMBER_ID: SHARED,
      WHATSAPP_TOKEN: CLOUD_API.token,
      WHATSAPP_APP_SECRET: CLOUD_API.secret,
      WHATSAPP_VERIFY_TOKEN: 'verify-me',
    };
    gateway = await startTestGateway(settings);
    other = await startTestGateway({ ...settings, ROLES: 'api' }, gateway.database);
    operator = await signInOperator(gateway);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
    await platform?.stop();
    await receiver?.stop();
  });

  /** Returns a platform id and a number that no account has. */
  const freshNumber = () => {
    counted += 1;
    const digits = String(counted).padStart(4, '0');
    return { phoneNumberId: `20000000000${digits}`, number: `+25677100${digits}` };
  };
  /** Returns the number of a person to whom nobody wrote. */
  const freshPerson = () => {
    counted += 1;
    return `+25670200${String(counted).padStart(4, '0')}`;
  };
  const run = (query: string, variables: object, token = operator) =>
    graphql(gateway, query, { token, variables: { ...variables } });
  const assign = (accountId: string, given: object, token = operator) =>
    run(ASSIGN, { accountId, ...given }, token);
  const remove = (accountId: string, token = operator) => run(REMOVE, { accountId }, token);
  const withNumber = async () => {
    const account = await gateway.createAccount();
    const own = freshNumber();
    expect(codesOf(await assign(account.accountId, own))).toEqual([]);
    return { account, ...own };
  };
  const call = (account: TestAccount, method: string, path: string, body?: object, at = gateway) =>
    at.call(method, path, { key: account.key, ...(body && { body }) });
  const send = (account: TestAccount, to: string, more: object = {}, at = gateway) =>
    call(account, 'POST', '/developers/whatsapp', { to, ...TEMPLATE, ...more }, at);
  const settled = (account: TestAccount, id: string, status: string) =>
    eventually(async () => {
      const { body } = await call(account, 'GET', `/developers/messages/${id}`);
      return body.status === status && body;
    });
  /** Sends a template, and waits until the platform has accepted it. */
  const write = async (account: TestAccount, to: string, more: object = {}) => {
    const { body } = await send(account, to, more);
    return settled(account, body.id, 'sent');
  };
  const requestsTo = (to: string) => platform.requests.filter(({ body }) => `+${body.to}` === to);
  /** Returns the platform's ids of the numbers from which messages to `to` left, the oldest first. */
  const linesTo = (to: string) => requestsTo(to).map(({ path }) => path.split('/').at(-2));
  const windowOf = async (account: TestAccount, to: string) =>
    (await call(account, 'GET', `/developers/whatsapp/window?to=${encodeURIComponent(to)}`)).body;
  const hear = async (from: string, phoneNumberId: string, text = 'Hi', at = new Date()) => {
    counted += 1;
    const more = { text: { body: text } };
    const body = inboundCallback(from.slice(1), `wamid.I${counted}`, at, more, phoneNumberId);
    expect((await callBack(gateway.url, body)).status).toBe(200);
  };
  const text = { type: 'text', text: { body: 'Hello' } };
  const fieldsOf = (answered: Awaited<ReturnType<typeof run>>) =>
    answered.body.errors?.[0].extensions.details.fields.map(({ path }: { path: string }) => path);

  describe('are asked about at the platform before they are assigned (R584)', () => {
    afterEach(() => {
      record = known;
    });
    const faultOf = async (accountId: string, given: object) => {
      const { body } = await assign(accountId, given);
      return body.errors[0].extensions.details.fields;
    };
    const verifiedAt = async (account: TestAccount) =>
      (await call(account, 'GET', '/developers/senders?channel=whatsapp')).body.data.map(
        (sender: { verifiedAt: string | null }) => sender.verifiedAt,
      );

    it('and are refused if the platform does not know the id, or the app has no access (R584)', async () => {
      const account = await gateway.createAccount();
      record = noSuchObject;
      const own = freshNumber();
      expect(await faultOf(account.accountId, own)).toEqual([
        {
          path: 'phoneNumberId',
          message: expect.stringMatching(
            /^is no phone number that the gateway's app can use \(WhatsApp says 100: Unsupported get request.*\); give the phone number ID that WhatsApp Manager shows beside the number/,
          ),
        },
      ]);
      expect(await verifiedAt(account)).toEqual([]);
    });

    it('and are refused with the right number if the id is of another one (R584)', async () => {
      const account = await gateway.createAccount();
      const [own, another] = [freshNumber(), freshNumber()];
      const given = { phoneNumberId: own.phoneNumberId, number: another.number };
      expect(await faultOf(account.accountId, given)).toEqual([
        {
          path: 'number',
          message: `is not the number of this phone number ID: WhatsApp says that it is ${own.number}`,
        },
      ]);
      expect(await verifiedAt(account)).toEqual([]);
      expect(codesOf(await assign(account.accountId, own))).toEqual([]);
      expect(await verifiedAt(account)).toEqual([expect.stringMatching(/Z$/)]);
    });

    it.each([
      ['cannot be reached', () => 'reset' as const],
      ['refuses the token', () => refused(401, 190, 'Error validating access token')],
      ['has trouble', () => ({ status: 503, body: {} })],
      ['answers something else', () => ({ status: 200, body: { id: '1' } })],
    ])('but are assigned if it %s, and confirmed when they are assigned again (R584)', async (_, trouble) => {
      const account = await gateway.createAccount();
      const own = freshNumber();
      record = trouble;
      const made = await assign(account.accountId, own);
      expect(made.body.data.assignWhatsAppNumber).toMatchObject({ status: 'APPROVED', verifiedAt: null });
      expect(await verifiedAt(account)).toEqual([null]);
      record = known;
      const again = await assign(account.accountId, own);
      const { id, verifiedAt: confirmed } = again.body.data.assignWhatsAppNumber;
      expect(id).toBe(made.body.data.assignWhatsAppNumber.id);
      expect(confirmed).toMatch(/Z$/);
      expect(await verifiedAt(account)).toEqual([confirmed]);
      // It stays confirmed while the platform is away.
      record = trouble;
      expect((await assign(account.accountId, own)).body.data.assignWhatsAppNumber.verifiedAt).toBe(
        confirmed,
      );
    });

    it('while other changes of senders go on (R584)', async () => {
      const [account, other] = [await gateway.createAccount(), await gateway.createAccount()];
      const [own, another] = [freshNumber(), freshNumber()];
      let isAsked = false;
      record = (id) => {
        if (id !== own.phoneNumberId) return known(id);
        isAsked = true;
        return 'hang';
      };
      const waiting = assign(account.accountId, own);
      await eventually(async () => isAsked);
      expect(codesOf(await assign(other.accountId, another))).toEqual([]);
      expect(await verifiedAt(account)).toEqual([]);
      expect((await waiting).body.data.assignWhatsAppNumber).toMatchObject({ verifiedAt: null });
    });
  });

  it('is assigned by an operator, is a sender of its account, and is audited (R550)', async () => {
    const account = await gateway.createAccount();
    const stranger = await gateway.createAccount();
    const { phoneNumberId, number } = freshNumber();
    const made = await assign(account.accountId, {
      phoneNumberId,
      number: `${number.slice(0, 7)} ${number.slice(7)}`,
    });
    expect(made.body.data.assignWhatsAppNumber).toEqual({
      id: expect.any(String),
      accountId: account.accountId,
      environment: 'PRODUCTION',
      channel: 'WHATSAPP',
      status: 'APPROVED',
      number,
      phoneNumberId,
      senderId: null,
      domain: null,
      purposes: ['TRANSACTIONAL', 'OTP', 'MARKETING'],
      verifiedAt: expect.any(String),
    });
    const { id } = made.body.data.assignWhatsAppNumber;
    const listed = await call(account, 'GET', '/developers/senders?channel=whatsapp');
    expect(listed.body.data).toEqual([
      expect.objectContaining({ id, channel: 'whatsapp', status: 'approved', number, phoneNumberId }),
    ]);
    expect((await call(account, 'GET', `/developers/senders/${id}`)).body.sender).toEqual(
      listed.body.data[0],
    );
    // The same again changes nothing.
    const again = await assign(account.accountId, { phoneNumberId, number });
    expect(again.body.data.assignWhatsAppNumber.id).toBe(id);
    expect((await call(stranger, 'GET', '/developers/senders')).body.data).toEqual([]);
    expect((await call(stranger, 'GET', `/developers/senders/${id}`)).status).toBe(404);
    const session = await signIn(gateway, account);
    expect((await run(SENDERS, {}, session)).body.data.senders.nodes).toEqual([
      { accountId: account.accountId, channel: 'WHATSAPP', number, phoneNumberId },
    ]);
    expect((await run(SENDERS, {}, await signIn(gateway, stranger))).body.data.senders.nodes).toEqual([]);
    expect(codesOf(await remove(account.accountId))).toEqual([]);
    expect((await call(account, 'GET', '/developers/senders')).body.data).toEqual([]);
    const log = '{ auditLog(first: 20) { nodes { action before after actor { __typename } } } }';
    const { nodes } = (await run(log, {}, session)).body.data.auditLog;
    expect(nodes.filter(({ action }: { action: string }) => action.startsWith('sender.'))).toMatchObject([
      { action: 'sender.removeNumber', before: { number, phoneNumberId } },
      { action: 'sender.assignNumber', before: null, after: { number, phoneNumberId } },
    ]);
  });

  it('belongs to one account, which has one number, and is never the shared one (R550)', async () => {
    const { account, ...own } = await withNumber();
    const stranger = await gateway.createAccount();
    const free = freshNumber();
    const faults = [
      await assign(stranger.accountId, own),
      await assign(stranger.accountId, { ...free, number: own.number }),
      await assign(stranger.accountId, { ...free, phoneNumberId: SHARED }),
      await assign(stranger.accountId, { phoneNumberId: '+256 77', number: 'mango' }),
    ];
    expect(faults.map(fieldsOf)).toEqual([
      ['phoneNumberId'],
      ['number'],
      ['phoneNumberId'],
      ['phoneNumberId', 'number'],
    ]);
    expect(faults[0]?.body.errors[0].message).toContain(account.accountId);
    const nobody = '0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11';
    expect(codesOf(await assign(nobody, free))).toEqual(['NOT_FOUND']);
    expect(codesOf(await assign('mango', free))).toEqual(['NOT_FOUND']);
    expect(codesOf(await remove(stranger.accountId))).toEqual(['NOT_FOUND']);
    // Another number replaces the first, which is free then.
    expect(codesOf(await assign(account.accountId, free))).toEqual([]);
    const { data } = (await call(account, 'GET', '/developers/senders')).body;
    expect(data).toEqual([expect.objectContaining(free)]);
    expect(codesOf(await assign(stranger.accountId, own))).toEqual([]);
  });

  it('is assigned at the same time to two accounts by two operators: one of them has it (R550)', async () => {
    const [first, second] = [await gateway.createAccount(), await gateway.createAccount()];
    const own = freshNumber();
    const answers = await Promise.all([first, second].map(({ accountId }) => assign(accountId, own)));
    expect(answers.map(codesOf).sort()).toEqual([[], ['BAD_USER_INPUT']]);
  });

  it('is no business of keys, people and operators who only read (R551)', async () => {
    const { account, ...own } = await withNumber();
    const free = freshNumber();
    const owner = await signIn(gateway, account);
    const admin = await signIn(gateway, await inviteMember(gateway, owner, 'ADMIN'));
    const reader = await signInOperator(gateway, true);
    for (const token of [owner, admin, reader]) {
      expect(codesOf(await assign(account.accountId, free, token))).toEqual(['FORBIDDEN']);
      expect(codesOf(await remove(account.accountId, token))).toEqual(['FORBIDDEN']);
    }
    expect(codesOf(await assign(account.accountId, free, account.key))).toEqual(['UNAUTHENTICATED']);
    const asked = await call(account, 'POST', '/developers/senders', { channel: 'whatsapp', ...free });
    expect([asked.status, asked.body.error.code]).toEqual([400, 'validation_error']);
    const requested = await run(
      'mutation { requestSender(input: { channel: WHATSAPP, senderId: "MANGOES" }) { id } }',
      {},
      owner,
    );
    expect(fieldsOf(requested)).toEqual(['input.channel']);
    const { id } = (await call(account, 'GET', '/developers/senders')).body.data[0];
    const kept = [
      await call(account, 'DELETE', `/developers/senders/${id}`),
      await call(account, 'POST', `/developers/senders/${id}/verify`),
    ];
    expect(kept.map(({ status, body }) => [status, body.error.code])).toEqual([
      [400, 'validation_error'],
      [400, 'validation_error'],
    ]);
    expect(kept[0]?.body.error.message).toContain('only the operator');
    const answered = [
      await run(`mutation { removeSender(id: "${id}") }`, {}, owner),
      await run(`mutation { reviewSender(id: "${id}", status: REJECTED) { id } }`, {}),
      await run(`mutation { setSenderRegistrations(id: "${id}", registrations: []) { id } }`, {}),
    ];
    expect(answered.map(fieldsOf)).toEqual([['id'], ['id'], ['id']]);
    expect((await call(account, 'GET', '/developers/senders')).body.data).toEqual([
      expect.objectContaining({ ...own, status: 'approved' }),
    ]);
  });

  it('sends the messages of its account, and the shared number those of all others (R552)', async () => {
    const [first, second] = [await withNumber(), await withNumber()];
    const third = await gateway.createAccount();
    const to = freshPerson();
    const sent = [
      await write(first.account, to),
      await write(second.account, to),
      await write(third, to),
      await write(first.account, to),
    ];
    expect(linesTo(to)).toEqual([first.phoneNumberId, second.phoneNumberId, SHARED, first.phoneNumberId]);
    expect(sent.map(({ from }) => from)).toEqual([first.number, second.number, DEFAULT, first.number]);
    expect(requestsTo(to).map(({ headers }) => headers.authorization)).toEqual(
      Array(4).fill(`Bearer ${CLOUD_API.token}`),
    );
    const sandbox = await gateway.call('POST', '/developers/whatsapp', {
      key: first.account.sandboxKey,
      body: { to, ...TEMPLATE },
    });
    expect(sandbox.body).toMatchObject({ status: 'sent', from: DEFAULT });
  });

  it('holds in every process with the next send (R552)', async () => {
    const account = await gateway.createAccount();
    const to = freshPerson();
    const sendThere = async () => {
      const { body } = await send(account, to, {}, other);
      return settled(account, body.id, 'sent');
    };
    expect((await sendThere()).from).toBe(DEFAULT);
    const own = freshNumber();
    await assign(account.accountId, own);
    await eventually(async () => (await sendThere()).from === own.number);
    expect(linesTo(to).at(-1)).toBe(own.phoneNumberId);
    await remove(account.accountId);
    await eventually(async () => (await sendThere()).from === DEFAULT);
    expect(linesTo(to).at(-1)).toBe(SHARED);
  });

  it('that is taken away sends nothing more: what waits for it fails, and is refunded (R552)', async () => {
    const CHANGE = 'mutation ($input: ChangePricesInput!) { changePrices(input: $input) { amount } }';
    const prices = (amount: number) =>
      run(CHANGE, { input: { currency: 'UGX', changes: [{ channel: 'WHATSAPP', prefix: '', amount }] } });
    const { account, phoneNumberId, number } = await withNumber();
    const heir = await gateway.createAccount();
    const balanceOf = async () => (await call(account, 'GET', '/account')).body.balance;
    const balance = await balanceOf();
    const scheduledFor = new Date(Date.now() + 3_000).toISOString();
    expect(codesOf(await prices(40))).toEqual([]);
    const to = freshPerson();
    const { body: late } = await send(account, to, { scheduledFor });
    const { body: moved } = await send(account, freshPerson(), { scheduledFor });
    expect(codesOf(await prices(0))).toEqual([]);
    expect(late).toMatchObject({ status: 'pending', from: number });
    expect(await balanceOf()).toBe(balance - 80);
    await remove(account.accountId);
    await assign(heir.accountId, { phoneNumberId, number });
    const found = await settled(account, late.id, 'failed');
    expect(found.recipients[0].error).toEqual({
      code: 'number_taken',
      message: expect.stringContaining('was taken from the account'),
    });
    await settled(account, moved.id, 'failed');
    expect(requestsTo(to)).toEqual([]);
    expect(await balanceOf()).toBe(balance);
    const explained = await call(account, 'GET', `/developers/messages/${late.id}?explain=true`);
    expect(explained.body.explanation.cause).toBe('number_taken');
    // Sent again, it leaves from the number that the account has now.
    const session = await signIn(gateway, account);
    const resent = await run(`mutation { resendMessage(id: "${late.id}") { id } }`, {}, session);
    await settled(account, resent.body.data.resendMessage.id, 'sent');
    expect(linesTo(to)).toEqual([SHARED]);
  });

  it('does not change the number of what waits already when it is assigned (R552)', async () => {
    const account = await gateway.createAccount();
    const to = freshPerson();
    const scheduledFor = new Date(Date.now() + 2_000).toISOString();
    const { body } = await send(account, to, { scheduledFor });
    const own = freshNumber();
    await assign(account.accountId, own);
    const found = await settled(account, body.id, 'sent');
    expect(found.from).toBe(DEFAULT);
    expect(linesTo(to)).toEqual([SHARED]);
    await write(account, to);
    expect(linesTo(to)).toEqual([SHARED, own.phoneNumberId]);
  });

  it('gets the replies of people for its account, whoever wrote to them last (R553)', async () => {
    const [first, second] = [await withNumber(), await withNumber()];
    const third = await gateway.createAccount();
    const person = freshPerson();
    await write(first.account, person);
    await write(second.account, person);
    await write(third, person);
    await hear(person, first.phoneNumberId);
    const open = async () =>
      Promise.all(
        [first.account, second.account, third].map(async (each) => (await windowOf(each, person)).open),
      );
    expect(await open()).toEqual([true, false, false]);
    await hear(person, SHARED);
    expect(await open()).toEqual([true, false, true]);
    await hear(person, second.phoneNumberId);
    expect(await open()).toEqual([true, true, true]);
    const newcomer = freshPerson();
    await hear(newcomer, first.phoneNumberId);
    expect(await windowOf(first.account, newcomer)).toMatchObject({ open: true });
    expect(await windowOf(second.account, newcomer)).toMatchObject({ open: false });
    expect((await send(first.account, newcomer, text)).status).toBe(200);
    expect((await send(second.account, newcomer, text)).body.error.code).toBe('session_window_closed');
    // Nobody has this number.
    const alone = freshPerson();
    await write(first.account, alone);
    await hear(alone, freshNumber().phoneNumberId);
    expect(await windowOf(first.account, alone)).toMatchObject({ open: false });
  });

  it('does not count as a write from the shared number (R553)', async () => {
    const { account } = await withNumber();
    const third = await gateway.createAccount();
    const person = freshPerson();
    await write(third, person);
    await write(account, person);
    await hear(person, SHARED);
    expect(await windowOf(third, person)).toMatchObject({ open: true });
    expect(await windowOf(account, person)).toMatchObject({ open: false });
  });

  it('obeys STOP, START and HELP for its account, and confirms them from the number (R553)', async () => {
    const [first, second] = [await withNumber(), await withNumber()];
    const third = await gateway.createAccount();
    const person = freshPerson();
    await write(first.account, person);
    await write(third, person);
    const before = linesTo(person).length;
    await hear(person, first.phoneNumberId, 'STOP', new Date(Date.now() - 60_000));
    await eventually(() => linesTo(person).length === before + 1);
    expect(linesTo(person).at(-1)).toBe(first.phoneNumberId);
    expect(requestsTo(person).at(-1)?.body.text.body).toContain('You will get no more messages here');
    expect((await send(first.account, person)).body.error.code).toBe('all_recipients_suppressed');
    expect((await send(second.account, person)).status).toBe(200);
    expect((await send(third, person)).status).toBe(200);
    await hear(person, first.phoneNumberId, 'START');
    expect((await send(first.account, person)).status).toBe(200);
    const { rows } = await gateway.parts.stores.messages.history(
      { accountId: first.account.accountId, environment: undefined },
      'whatsapp',
      { to: person },
      { page: 1, limit: 10 },
    );
    expect(new Set(rows.map(({ from }) => from))).toEqual(new Set([first.number]));
  });

  it('leaves a STOP to the shared number to the shared number, also of an account with a number now (R553)', async () => {
    const account = await gateway.createAccount();
    const person = freshPerson();
    await write(account, person);
    const own = freshNumber();
    await assign(account.accountId, own);
    await hear(person, SHARED, 'STOP');
    await eventually(() => linesTo(person).length === 2);
    expect(linesTo(person)).toEqual([SHARED, SHARED]);
    expect((await send(account, person)).body.error.code).toBe('all_recipients_suppressed');
  });

  it('has windows of its own: those of the shared number do not count for it, nor the other way (R554)', async () => {
    const account = await gateway.createAccount();
    const person = freshPerson();
    await write(account, person);
    const at = new Date(Math.floor(Date.now() / 1_000) * 1_000 - HOUR_MS);
    await hear(person, SHARED, 'Hi', at);
    expect(await windowOf(account, person)).toMatchObject({ open: true });
    const own = freshNumber();
    await assign(account.accountId, own);
    expect(await windowOf(account, person)).toEqual({
      to: person,
      open: false,
      lastInboundAt: null,
      closesAt: null,
    });
    const closed = await send(account, person, text);
    expect(closed.body.error.message).toContain(
      `has received no message from ${person} yet at its number ${own.number}`,
    );
    await hear(person, own.phoneNumberId, 'Hi', new Date(at.getTime() + 1_000));
    expect(await windowOf(account, person)).toMatchObject({
      open: true,
      lastInboundAt: new Date(at.getTime() + 1_000).toISOString(),
    });
    expect((await send(account, person, text)).status).toBe(200);
    await remove(account.accountId);
    expect(await windowOf(account, person)).toMatchObject({ open: true, lastInboundAt: at.toISOString() });
    // The window of a number stays with the account whose it was.
    const heir = await gateway.createAccount();
    await assign(heir.accountId, own);
    expect(await windowOf(heir, person)).toMatchObject({ open: false, lastInboundAt: null });
  });

  it('gets the reports of its messages, with their webhooks, also when it was taken away since (R553)', async () => {
    const { account, phoneNumberId, number } = await withNumber();
    const events = ['whatsapp.delivered', 'whatsapp.read'];
    await call(account, 'POST', '/developers/webhooks', { url: receiver.url, events });
    const first = await write(account, freshPerson());
    const second = await write(account, freshPerson());
    const report = async (sid: string, status: string, id = phoneNumberId) =>
      expect(
        (await callBack(gateway.url, statusCallback(sid, status, { recipient_id: undefined }, [status], id)))
          .status,
      ).toBe(200);
    // The platform's ids of messages are unique, but a report of another number is not about these.
    await report(first.sid, 'delivered', freshNumber().phoneNumberId);
    await report(first.sid, 'delivered', SHARED);
    expect((await call(account, 'GET', `/developers/messages/${first.id}`)).body.status).toBe('sent');
    await report(first.sid, 'delivered');
    await settled(account, first.id, 'delivered');
    const hook = await receiver.waitFor(({ body }) => body.messageId === first.id);
    expect(hook.body).toMatchObject({ event: 'whatsapp.delivered', data: { from: number, sid: first.sid } });
    await remove(account.accountId);
    await report(second.sid, 'read');
    await receiver.waitFor(({ body }) => body.messageId === second.id && body.event === 'whatsapp.read');
  });

  it('takes the parts of one callback for several numbers apart (R553)', async () => {
    const [first, second] = [await withNumber(), await withNumber()];
    const third = await gateway.createAccount();
    const person = freshPerson();
    await write(third, person);
    const at = new Date();
    const ids = [first.phoneNumberId, second.phoneNumberId, SHARED];
    const parts = ids.map((id, index) =>
      inboundCallback(person.slice(1), `wamid.part-${person}-${index}`, at, {}, id),
    );
    const body = { ...parts[0], entry: parts.flatMap(({ entry }) => entry) };
    expect((await callBack(gateway.url, body)).status).toBe(200);
    for (const each of [first.account, second.account, third]) {
      expect(await windowOf(each, person)).toMatchObject({ open: true });
    }
  });

  it('is a provider of its own, whose trouble holds up no other number, and that doctor checks (R555)', async () => {
    const [broken, whole] = [await withNumber(), await withNumber()];
    answer = (request) =>
      request.path.includes(broken.phoneNumberId)
        ? refused(403, 10, 'No permission for this number')
        : take(request);
    try {
      const { body } = await send(broken.account, freshPerson());
      await write(whole.account, freshPerson());
      await write(await gateway.createAccount(), freshPerson());
      const named = () =>
        gateway.parts.routing.status().find(({ name }) => name === `whatsapp:${broken.phoneNumberId}`);
      await eventually(() => named()?.detail?.includes('No permission'));
      const list = '{ providers { name channel state } }';
      await eventually(async () => {
        const { providers } = (await run(list, {})).body.data;
        return providers.some(
          ({ name, state }: { name: string; state: string }) =>
            name === `whatsapp:${broken.phoneNumberId}` && state !== 'UP',
        );
      });
      answer = take;
      await settled(broken.account, body.id, 'sent');
    } finally {
      answer = take;
    }
    const { json } = await examine(other.parts, undefined);
    const names = (json as { checks: { name?: string }[] }).checks.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([`whatsapp:${SHARED}`, `whatsapp:${whole.phoneNumberId}`]));
    await remove(broken.account.accountId);
    await eventually(
      () => !gateway.parts.routing.health().some(({ name }) => name.includes(broken.phoneNumberId)),
    );
  });

  it('is simulated where WhatsApp is not configured, and 503 in production (R552)', async () => {
    await using simulated = await startTestGateway({ WHATSAPP_APP_SECRET: CLOUD_API.secret });
    const account = await simulated.createAccount();
    const stranger = await simulated.createAccount();
    const own = freshNumber();
    const token = await signInOperator(simulated);
    const variables = { accountId: account.accountId, ...own };
    expect(codesOf(await graphql(simulated, ASSIGN, { token, variables }))).toEqual([]);
    const to = freshPerson();
    const get = (each: TestAccount, path: string) => simulated.call('GET', path, { key: each.key });
    const body = { to, ...TEMPLATE };
    const sent = await simulated.call('POST', '/developers/whatsapp', { key: account.key, body });
    expect(sent.body.from).toBe(own.number);
    await eventually(async () => {
      const found = (await get(account, `/developers/messages/${sent.body.id}`)).body;
      return found.status === 'delivered' && found.readAt !== null;
    });
    await simulated.call('POST', '/developers/whatsapp', { key: stranger.key, body });
    const path = `/developers/whatsapp/window?to=${encodeURIComponent(to)}`;
    const reply = (id: string, at: string) =>
      callBack(simulated.url, inboundCallback(to.slice(1), id, new Date(), {}, at));
    await reply('wamid.simulated-1', own.phoneNumberId);
    expect((await get(account, path)).body.open).toBe(true);
    expect((await get(stranger, path)).body.open).toBe(false);
    // Without a number of its own, the gateway takes any other number for the shared one.
    await eventually(async () => {
      await reply('wamid.simulated-2', SHARED);
      await reply(`wamid.simulated-${Date.now()}`, SHARED);
      return (await get(stranger, path)).body.open;
    });

    await using production = await startTestGateway({ NODE_ENV: 'production' });
    const unserved = await production.createAccount();
    const system = { kind: 'system', name: 'test' } as const;
    const given = { ...variables, accountId: unserved.accountId };
    await production.parts.operations.senders.assignNumber.run(system, given);
    const unsent = await production.call('POST', '/developers/whatsapp', { key: unserved.key, body });
    expect([unsent.status, unsent.body.error.code]).toEqual([503, 'service_unavailable']);
  });
});
