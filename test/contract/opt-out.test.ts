/** Tests the ways in which recipients stop marketing messages: the link and its page, and one click in mail programs. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { type MailServer, type ReceivedMail, startMailServer, textOfMail } from '../support/mail-server.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';

const BLANK = 'own-link-per-recipient';
const LINK = /https?:\/\/[^\s"<>]+\/o\/[A-Za-z0-9_-]{22,}/;
const FORM = 'application/x-www-form-urlencoded';
let numbers = 0;
const newNumber = () => {
  numbers += 1;
  return `+2567003${String(numbers).padStart(5, '0')}`;
};

describe('the way out of marketing messages', () => {
  let smsc: Smsc;
  let mails: MailServer;
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    [smsc, mails] = [await startSmsc(), await startMailServer()];
    const settings = { SMS_ROUTES: `*=${smsc.url}`, EMAIL_URL: mails.url };
    gateway = await startTestGateway(settings);
    other = await startTestGateway({ ...settings, ROLES: 'api' }, gateway.database);
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
    await mails?.stop();
    await smsc?.stop();
  });

  const call = (method: string, path: string, body?: object, key = account.key) =>
    gateway.call(method, path, { key, ...(body ? { body } : {}) });
  const offer = (to: string, more: object = {}, key = account.key) =>
    call(
      'POST',
      '/developers/sms',
      { to, message: 'Mangoes! Stop: {{optOut}}', from: 'MANGOES', purpose: 'marketing', ...more },
      key,
    );
  /** Returns the texts that were sent to a number, by order of arrival. */
  const textsTo = (to: string) =>
    smsc
      .messages()
      .filter((message) => message.to === to.slice(1))
      .map(({ text }) => text);
  const linksTo = (to: string) => textsTo(to).flatMap((text) => LINK.exec(text)?.[0] ?? []);
  /** Sends an offer, and returns the link in it. */
  const linkTo = async (to: string, more?: object, key?: string): Promise<string> => {
    const before = linksTo(to).length;
    expect((await offer(to, more, key)).status).toBe(200);
    return eventually(() => linksTo(to)[before]);
  };
  const open = async (
    url: string,
    method = 'GET',
    body?: string,
    headers: Record<string, string> = { 'Content-Type': FORM },
  ) => {
    const sent = body === undefined ? {} : { body, headers };
    const response = await fetch(url, { method, redirect: 'error', ...sent });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const suppressed = async (address: string, key = account.key) =>
    (await call('GET', `/developers/suppressions?address=${encodeURIComponent(address)}`, undefined, key))
      .body.data as { address: string; source: string }[];

  it('is a short link of each recipient, which nobody else sees (R440)', async () => {
    const [ann, ben] = [newNumber(), newNumber()];
    const { body } = await offer(`${ann},${ben}`);
    const blank = `${gateway.url}/o/${BLANK}`;
    expect(body.content).toBe(`Mangoes! Stop: ${blank}`);
    const first = await eventually(() => linksTo(ann)[0]);
    const second = await eventually(() => linksTo(ben)[0]);
    expect(textsTo(ann)).toEqual([`Mangoes! Stop: ${first}`]);
    expect(first).not.toBe(second);
    expect(first).toHaveLength(blank.length);
    const token = await signIn(gateway, account);
    const fields = 'content payload events { payload } recipients { to }';
    const shown = await graphql(gateway, `{ message(id: "${body.id}") { ${fields} } }`, { token });
    expect(shown.body.errors).toBeUndefined();
    const details = await call('GET', `/developers/messages/${body.id}`);
    for (const text of [JSON.stringify(shown.body), details.text]) {
      expect(text).toContain(BLANK);
      expect(text).not.toContain(first.slice(-22));
    }
  });

  it('stays the same in later messages, in retries and in a message that is sent again (R440)', async () => {
    const to = newNumber();
    const first = await linkTo(to);
    let submissions = 0;
    smsc.behave({
      answer: (submit) => {
        if (submit.destination.address !== to.slice(1)) return 'accept';
        submissions += 1;
        return submissions === 1 ? 'throttle' : 'accept';
      },
    });
    expect(await linkTo(to)).toBe(first);
    await eventually(() => submissions === 2);
    expect(new Set(linksTo(to))).toEqual(new Set([first]));
    smsc.behave({ answer: 'accept' });
    const { content } = (await offer(to)).body;
    expect(content).toContain(BLANK);
    expect(await linkTo(to, { message: content })).toBe(first);
    const receipt = await offer(to, { message: content, purpose: 'transactional' });
    expect([receipt.status, receipt.body.error.details.fields[0].path]).toEqual([400, 'message']);
    const stranger = await gateway.createAccount();
    expect(await linkTo(to, {}, stranger.key)).not.toBe(first);
  });

  it('counts with its length in quote, estimate and send (R440)', async () => {
    const token = await signIn(gateway, account);
    const room = 160 - `${gateway.url}/o/${BLANK}`.length;
    for (const [extra, units] of [
      [0, 1],
      [1, 2],
    ] as const) {
      const to = newNumber();
      const request = { to, message: `${'x'.repeat(room + extra)}{{optOut}}`, purpose: 'marketing' };
      const quote = await call('POST', '/developers/sms/quote', request);
      expect(quote.body).toMatchObject({ smsCount: units, cost: 30 * units });
      const document = `{ estimateSms(input: { to: "${to}", message: "${request.message}", purpose: MARKETING }) { smsCount cost } }`;
      const estimate = await graphql(gateway, document, { token });
      expect(estimate.body.data.estimateSms).toEqual({ smsCount: units, cost: 30 * units });
      const sent = await call('POST', '/developers/sms', request);
      expect(sent.body).toMatchObject({
        cost: 30 * units,
        metadata: { smsCount: units, messageLength: 160 + extra },
      });
      const [text] = await eventually(() => (textsTo(to).length === 1 ? textsTo(to) : undefined));
      expect(text).toHaveLength(160 + extra);
    }
    const long = await offer(newNumber(), { message: `${'x'.repeat(980)}{{optOut}}` });
    expect(long.body.error.code).toBe('message_too_long');
  });

  it('is for marketing only (R440)', async () => {
    for (const purpose of [undefined, 'transactional', 'otp']) {
      const { status, body } = await offer(newNumber(), { purpose, from: 'not valid' });
      expect([status, body.error.details.fields.map(({ path }: { path: string }) => path)]).toEqual([
        400,
        ['message', 'from'],
      ]);
    }
    const email = { to: 'ann@example.com', subject: 's', text: '{{optOut}}', html: '{{optOut}}' };
    const refused = await call('POST', '/developers/email', email);
    expect(refused.body.error.details.fields.map(({ path }: { path: string }) => path)).toEqual([
      'text',
      'html',
    ]);
    const headers = { 'List-Unsubscribe': `<https://msg.example/o/${BLANK}>` };
    const copied = await call('POST', '/developers/email', { ...email, text: 'x', html: 'x', headers });
    expect(copied.body.error.details.fields[0].path).toBe('headers.List-Unsubscribe');
    const token = await signIn(gateway, account);
    const send = `mutation { sendSms(input: { to: "${newNumber()}", message: "{{optOut}}", purpose: OTP }) { id } }`;
    expect(codesOf(await graphql(gateway, send, { token }))).toEqual(['BAD_USER_INPUT']);
    const plain = newNumber();
    expect((await offer(plain, { message: 'No link', purpose: 'otp' })).body.content).toBe('No link');
    await eventually(() => textsTo(plain)[0] === 'No link');
  });

  it('is added to a marketing SMS without one, and counts like a text of the sender (R531)', async () => {
    const { key } = await gateway.createAccount();
    const to = newNumber();
    const added = `\nStop: ${gateway.url}/o/${BLANK}`;
    const room = 160 - added.length;
    for (const [length, units] of [
      [room, 1],
      [room + 1, 2],
    ] as const) {
      const message = 'x'.repeat(length);
      const request = { to, message, purpose: 'marketing' };
      const quote = await call('POST', '/developers/sms/quote', request, key);
      expect(quote.body).toMatchObject({ smsCount: units, cost: 30 * units });
      const sent = await call('POST', '/developers/sms', request, key);
      expect(sent.body).toMatchObject({
        content: message + added,
        cost: 30 * units,
        metadata: { smsCount: units, messageLength: length + added.length },
      });
    }
    const [text] = await eventually(() => (textsTo(to).length === 2 ? textsTo(to) : undefined));
    expect(text).toMatch(/^x+\nStop: https?:\/\/\S+\/o\/[A-Za-z0-9_-]{22}$/);
    expect((await open(LINK.exec(text ?? '')?.[0] ?? '', 'POST', '')).status).toBe(200);
    expect(await suppressed(to, key)).toMatchObject([{ scope: 'marketing', source: 'link' }]);
    const long = await offer(newNumber(), { message: 'x'.repeat(1_000) });
    expect([long.status, long.body.error.code]).toEqual([400, 'message_too_long']);
    expect(long.body.error.message).toContain(`${added.length} of them for the opt-out link`);
    expect((await offer(newNumber(), { message: '' })).body.error.code).toBe('validation_error');
    const other = newNumber();
    const token = await signIn(gateway, account);
    const document = `mutation { sendSms(input: { to: "${other}", message: "Hi", purpose: MARKETING }) { content } }`;
    const byGraphQl = await graphql(gateway, document, { token });
    expect(byGraphQl.body.data.sendSms.content).toBe(`Hi${added}`);
    for (const purpose of [undefined, 'transactional', 'otp']) {
      expect((await offer(newNumber(), { message: 'As it is', purpose })).body.content).toBe('As it is');
    }
  });

  it('needs PUBLIC_URL in production, before any charge (R440)', async () => {
    await using production = await startTestGateway(
      {
        NODE_ENV: 'production',
        METRICS_TOKEN: 'token-of-the-metrics-page',
        SMS_ROUTES: '*=simulator:',
        EMAIL_URL: mails.url,
        SENDER_POLICY: 'open',
      },
      gateway.database,
    );
    const post = (path: string, body: object) =>
      production.call('POST', path, { key: account.key, body: { purpose: 'marketing', ...body } });
    const balance = async () => (await call('GET', '/account')).body.balance;
    const before = await balance();
    const sms = { to: newNumber(), message: '{{optOut}}' };
    for (const [path, body] of [
      ['/developers/sms', sms],
      ['/developers/sms/quote', sms],
      ['/developers/email', { to: 'ann@example.com', subject: 's', text: 'x' }],
    ] as const) {
      const refused = await post(path, body);
      expect([refused.status, refused.body.error.code]).toEqual([503, 'service_unavailable']);
      expect(refused.body.error.message).toContain('PUBLIC_URL');
    }
    expect(await balance()).toBe(before);
    expect((await post('/developers/sms', { ...sms, message: 'No link' })).status).toBe(503);
    expect((await post('/developers/sms', { ...sms, message: 'x', purpose: 'otp' })).status).toBe(200);
  });

  it('opens a page that asks once, without JavaScript, and changes nothing (R441)', async () => {
    const to = newNumber();
    const link = await linkTo(to);
    const page = await open(link);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).toContain('Stop offers from this sender?');
    expect(page.text).toContain(
      `by SMS from the sender of the message to ${to.slice(0, 4)}•••${to.slice(-3)}.`,
    );
    expect(page.text).not.toContain(to);
    expect(page.text).not.toMatch(/<script|https?:\/\/|<link|<img/i);
    expect(page.text.match(/<form method="post"><button>/g)).toHaveLength(1);
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('x-robots-tag')).toBe('noindex');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('set-cookie')).toBeNull();
    for (const method of ['HEAD', 'GET', 'OPTIONS', 'PUT', 'DELETE']) await open(link, method);
    await open(`${link}?List-Unsubscribe=One-Click`);
    expect(await suppressed(to)).toEqual([]);
  });

  it('the button stops marketing for that account and channel, in every process, and is audited (R441)', async () => {
    const to = newNumber();
    const link = await linkTo(to);
    const done = await open(link, 'POST', '');
    expect(done.status).toBe(200);
    expect(done.text).toContain('<h1>Done</h1>');
    expect(done.text).not.toContain('<form');
    expect(await suppressed(to)).toMatchObject([
      { channel: 'sms', address: to, scope: 'marketing', source: 'link', environment: 'production' },
    ]);
    expect((await offer(to)).body.error.code).toBe('all_recipients_suppressed');
    expect((await offer(to, { message: 'Receipt', purpose: 'transactional' })).status).toBe(200);
    const elsewhere = () =>
      other.call('POST', '/developers/sms', {
        key: account.key,
        body: { to, message: 'Mangoes', purpose: 'marketing' },
      });
    await eventually(async () => (await elsewhere()).status === 400);
    const stranger = await gateway.createAccount();
    expect((await offer(to, {}, stranger.key)).status).toBe(200);
    expect((await open(link, 'POST', '')).status).toBe(200);
    const token = await signIn(gateway, account);
    const log =
      '{ auditLog(first: 5) { nodes { action actor { __typename ... on System { name } } after } } }';
    const read = await graphql(gateway, log, { token });
    expect(read.body.errors).toBeUndefined();
    const { nodes } = read.body.data.auditLog;
    const added = nodes.filter(({ action }: { action: string }) => action === 'suppression.add');
    expect(added).toMatchObject([
      { actor: { name: 'recipient' }, after: { channel: 'sms', scope: 'marketing', source: 'link' } },
    ]);
    expect(JSON.stringify(nodes)).not.toContain(to);
    const listed = await graphql(gateway, '{ suppressions(first: 50) { nodes { address source } } }', {
      token,
    });
    expect(listed.body.data.suppressions.nodes).toContainEqual({ address: to, source: 'LINK' });
  });

  it('never makes a suppression of all messages smaller (R441)', async () => {
    const to = newNumber();
    const link = await linkTo(to);
    await call('POST', '/developers/suppressions', { channel: 'sms', address: to, scope: 'all' });
    expect((await open(link, 'POST', '')).status).toBe(200);
    expect(await suppressed(to)).toMatchObject([{ scope: 'all', source: 'api' }]);
  });

  it('works for an account after its messages, and in every process (R440, R441)', async () => {
    const to = newNumber();
    const link = await linkTo(to);
    await withKnex(gateway.database.url, (knex) =>
      knex('messages').where({ account_id: account.accountId }).update({ content: '', payload: null }),
    );
    expect((await open(link.replace(gateway.url, other.url), 'POST', '')).status).toBe(200);
    expect(await suppressed(to)).toHaveLength(1);
  });

  it('an unknown link is 404, and counts against the budget of its address (R441)', async () => {
    const [to, wanted] = [newNumber(), newNumber()];
    const link = await linkTo(to);
    const token = link.slice(-22);
    const changed = [token[0] === 'A' ? 'B' : 'A', token.slice(1)].join('');
    for (const unknown of [changed, BLANK, 'short', '%00', '%F0%9F%98%80', 'x'.repeat(500), wanted]) {
      for (const method of ['GET', 'POST']) {
        const answer = await open(`${gateway.url}/o/${unknown}`, method, method === 'POST' ? '' : undefined);
        expect([unknown, answer.status]).toEqual([unknown, 404]);
        expect(answer.text).toContain('This link does not work');
        expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      }
    }
    expect(await suppressed(to)).toEqual([]);
    expect((await open(link, 'POST', 'x'.repeat(5_000))).status).toBe(413);
    expect(await suppressed(to)).toEqual([]);
    // The budget belongs to the database, so this gateway has its own.
    await using narrow = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '3', SMS_ROUTES: `*=${smsc.url}` });
    const { key } = await narrow.createAccount();
    const body = { to: wanted, message: '{{optOut}}', purpose: 'marketing' };
    expect((await narrow.call('POST', '/developers/sms', { key, body })).status).toBe(200);
    const known = await eventually(() => linksTo(wanted)[0]);
    const answers = [];
    for (let count = 0; count < 5; count += 1) answers.push(await open(`${narrow.url}/o/${BLANK}`));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 429, 429]);
    expect(answers.at(-1)?.text).toContain('Open the link again in a minute.');
    expect(answers.at(-1)?.headers.get('retry-after')).toMatch(/^\d+$/);
    // A person with a link is served from the same address.
    expect((await open(known)).status).toBe(200);
  });

  describe('of email', () => {
    const email = { to: 'ann@example.com,Ben@Example.com', subject: 'Offer', purpose: 'marketing' };
    const send = async (more: object) => {
      const { status, body } = await call('POST', '/developers/email', { ...email, ...more });
      expect(status).toBe(200);
      return body;
    };
    const mailTo = ({ id }: { id: string }, to: string) =>
      mails.waitFor((mail) => mail.to[0]?.toLowerCase() === to && mail.raw.includes(id));
    const linkIn = (mail: ReceivedMail) => /^<(.+)>$/.exec(mail.header('List-Unsubscribe') ?? '')?.[1] ?? '';

    it('is in the text, the HTML and List-Unsubscribe, and one click stops the mails (R440, R442)', async () => {
      const sent = await send({ text: 'Stop: {{optOut}}', html: '<a href="{{optOut}}">Stop</a>' });
      expect(sent.content).toBe(`Stop: ${gateway.url}/o/${BLANK}`);
      const ann = await mailTo(sent, 'ann@example.com');
      const ben = await mailTo(sent, 'ben@example.com');
      const link = linkIn(ann);
      expect(link).toMatch(LINK);
      expect(ann.header('List-Unsubscribe-Post')).toBe('List-Unsubscribe=One-Click');
      expect(textOfMail(ann).split(link)).toHaveLength(3);
      expect(textOfMail(ann)).not.toContain(BLANK);
      expect(linkIn(ben)).toMatch(LINK);
      expect(linkIn(ben)).not.toBe(link);
      const page = await open(link);
      expect(page.text).toContain('by email from the sender of the message to a•••@example.com.');
      expect(await suppressed('ann@example.com')).toEqual([]);
      // Mail programs send a form, in one of two encodings, from their own servers and without cookies (RFC 8058, 3.2).
      const boundary = 'b1';
      const part = `--${boundary}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--${boundary}--\r\n`;
      const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
      expect((await open(link, 'POST', 'List-Unsubscribe=One-Click')).status).toBe(200);
      expect((await open(linkIn(ben), 'POST', part, multipart)).status).toBe(200);
      expect(await suppressed('ann@example.com')).toMatchObject([{ scope: 'marketing', source: 'link' }]);
      const next = await call('POST', '/developers/email', {
        ...email,
        to: `${email.to},cy@example.com`,
        text: 'x',
      });
      expect([next.body.to, next.body.metadata.suppressedSkipped]).toEqual([['cy@example.com'], 2]);
    });

    it('is in List-Unsubscribe without {{optOut}}, but not of other purposes or beside an own one (R442)', async () => {
      const to = 'dan@example.com';
      const plain = await mailTo(await send({ to, text: 'Hello' }), to);
      expect(linkIn(plain)).toMatch(LINK);
      const receipt = await mailTo(await send({ to, text: 'Receipt', purpose: undefined }), to);
      expect(receipt.header('List-Unsubscribe')).toBeUndefined();
      expect(receipt.header('List-Unsubscribe-Post')).toBeUndefined();
      const headers = { 'List-Unsubscribe': '<https://mangoes.example/u/1>' };
      const own = await mailTo(await send({ to, text: 'x', headers }), to);
      expect(own.header('List-Unsubscribe')).toBe(headers['List-Unsubscribe']);
      expect(own.header('List-Unsubscribe-Post')).toBeUndefined();
    });

    it('is the own one of each copy, so that a click stops nobody else (R532)', async () => {
      const to = 'fay@example.com';
      const copies = { cc: ['gus@example.com'], bcc: ['hal@example.com'] };
      const sent = await send({ to, ...copies, text: 'Stop: {{optOut}}' });
      const got = async (address: string) =>
        mails.waitFor((mail) => mail.to.includes(address) && mail.raw.includes(sent.id));
      const fay = await got(to);
      const gus = await got('gus@example.com');
      const hal = await got('hal@example.com');
      expect([fay, gus, hal].map((mail) => mail.to.length)).toEqual([1, 1, 1]);
      const links = [fay, gus, hal].map(linkIn);
      expect(new Set(links).size).toBe(3);
      for (const [index, mail] of [fay, gus, hal].entries()) {
        expect(mail.header('To')).toContain(to);
        expect(mail.header('Cc')).toContain('gus@example.com');
        expect(mail.raw).not.toContain('hal@example.com');
        expect(textOfMail(mail)).toContain(links[index]);
      }
      expect((await open(links[2] ?? '', 'POST', '')).status).toBe(200);
      expect(await suppressed('hal@example.com')).toMatchObject([{ source: 'link' }]);
      expect(await suppressed(to)).toEqual([]);
      // Copies of other mails leave in one transaction, as before.
      const receipt = await send({ to, ...copies, text: 'Receipt', purpose: undefined });
      const one = await mails.waitFor((mail) => mail.to.includes(to) && mail.raw.includes(receipt.id));
      expect(one.to).toEqual([to, 'gus@example.com', 'hal@example.com']);
    });

    it('stays in a mail that is sent again with the headers that the API shows (R440, R442)', async () => {
      const to = 'eve@example.com';
      const sent = await send({ to, text: 'Stop: {{optOut}}' });
      const link = linkIn(await mailTo(sent, to));
      const token = await signIn(gateway, account);
      const document = `{ message(id: "${sent.id}") { content payload } }`;
      const { content, payload } = (await graphql(gateway, document, { token })).body.data.message;
      expect(JSON.stringify(payload)).not.toContain(link);
      const again = await mailTo(await send({ to, text: content, headers: payload.headers }), to);
      expect(linkIn(again)).toBe(link);
      expect(textOfMail(again)).toContain(link);
    });
  });

  it('is not in sandbox messages, so that they cannot stop real ones (R440)', async () => {
    const to = newNumber();
    const sandbox = await offer(to, {}, account.sandboxKey);
    expect(sandbox.body.content).toContain(BLANK);
    const link = LINK.exec(sandbox.body.content)?.[0] ?? '';
    expect((await open(link, 'POST', '')).status).toBe(404);
    expect(await suppressed(to)).toEqual([]);
    await linkTo(to);
    expect(textsTo(to)).toHaveLength(1);
  });
});
