/** Tests the SMPP carrier against an SMSC simulator over real sockets. */
import net, { type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { CircuitBreaker } from '../../src/channels/circuit-breaker.ts';
import { smpp } from '../../src/channels/sms/smpp/pdu.ts';
import { createSmppCarrier, type SmppCarrierOptions } from '../../src/channels/sms/smpp/smpp-carrier.ts';
import type { Logger } from '../../src/domain/ports/logger.ts';
import type {
  DeliveryReport,
  InboundText,
  Provider,
  ReportSink,
  SmsSubmission,
  SubmitOutcome,
} from '../../src/domain/ports/provider.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { identity } from '../support/raw-receiver.ts';
import { type Smsc, type SmscOptions, startSmsc } from '../support/smsc.ts';

/** Long timeouts, for tests that do not test timeouts. On a busy machine an answer may take seconds. */
const TIMING = {
  submitTimeoutMs: 30_000,
  reconnectMinMs: 20,
  reconnectMaxMs: 100,
  boundWaitMs: 30_000,
  throttlePauseMs: 10,
  stopGraceMs: 10_000,
};
const GSM7_LONG = `${'x'.repeat(152)}€${'[{}]~^|\\'.repeat(20)}${'àéöÑ Ω'.repeat(30)}`;
const UCS2_LONG = `${'ж'.repeat(66)}😀${'👩‍🚀 中文 '.repeat(25)}`;

/** The directory of the test-only certificates. */
const TLS = fileURLToPath(new URL('../fixtures/tls-test-only/', import.meta.url));

const running: { stop(): Promise<void> }[] = [];
let logged: { level: string; fields: object; message: string }[] = [];
let inbound: InboundText[] = [];

afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.stop();
  const written = JSON.stringify(logged);
  for (const secret of ['secret', 'wrong-password', '256700000001', 'hello'])
    expect(written).not.toContain(secret);
  logged = [];
  inbound = [];
});

describe('submitting a message', () => {
  it('binds as a transceiver and submits a message', async () => {
    const { smsc, carrier } = await pair();
    expect(carrier.name).toBe(`smpp:gateway@127.0.0.1:${smsc.port}`);
    const expiresAt = new Date(Date.now() + 3_600_000);
    expect(await send(carrier, { text: 'hello €', expiresAt })).toEqual({ kind: 'accepted', sid: '1000000' });
    expect(smsc.binds).toEqual([
      { systemId: 'gateway', password: 'secret', systemType: '', command: 'bind_transceiver', status: 0 },
    ]);
    expect(smsc.received).toEqual([
      expect.objectContaining({
        source: { ton: 5, npi: 0, address: 'SERVICE' },
        destination: { ton: 1, npi: 1, address: '256700000001' },
        esmClass: 0,
        dataCoding: 0,
        registeredDelivery: 1,
        validityPeriod: `${expiresAt.toISOString().replace(/\D/g, '').slice(2, 15)}00+`,
        octets: Buffer.from('hello \u001be'),
      }),
    ]);
    expect(carrier.health()).toEqual({ name: carrier.name, state: 'up', inFlight: 0 });
  });

  it.each([
    ['+256700000009', { ton: 1, npi: 1, address: '256700000009' }],
    ['256700000009', { ton: 1, npi: 1, address: '256700000009' }],
    ['8080', { ton: 3, npi: 0, address: '8080' }],
    ['Acme 24', { ton: 5, npi: 0, address: 'Acme 24' }],
  ])('sends from %s', async (from, source) => {
    const { smsc, carrier } = await pair();
    await send(carrier, { from });
    expect(smsc.received[0]!.source).toEqual(source);
  });

  it('takes window, systemType, TON and NPI from the URL', async () => {
    const { smsc, carrier } = await pair({}, '?window=3&systemType=VMA&sourceTon=0&sourceNpi=1&validity=off');
    await send(carrier, { from: 'ACME' });
    expect(smsc.binds[0]!.systemType).toBe('VMA');
    expect(smsc.received[0]).toMatchObject({
      source: { ton: 0, npi: 1, address: 'ACME' },
      validityPeriod: '',
    });
  });

  it('omits the validity period from 48 hours ahead', async () => {
    const { smsc, carrier } = await pair();
    await send(carrier, { expiresAt: new Date(Date.now() + 49 * 3_600_000) });
    expect(smsc.received[0]!.validityPeriod).toBe('');
  });

  it.each([
    ['GSM-7', GSM7_LONG, 0],
    ['UCS-2', UCS2_LONG, 8],
  ] as const)(
    'splits a long %s text into parts that join to the same text',
    async (encoding, text, dataCoding) => {
      const { smsc, carrier } = await pair({ messageIds: 'hex' });
      const outcome = await send(carrier, { text, encoding });
      const [message] = smsc.messages();
      expect(message).toMatchObject({ from: 'SERVICE', to: '256700000001', text, dataCoding });
      expect(message!.sids.length).toBeGreaterThan(2);
      expect(outcome).toEqual({ kind: 'accepted', sid: message!.sids[0], partSids: message!.sids });
      expect(new Set(smsc.received.map(({ connection }) => connection)).size).toBe(1);
      expect(smsc.received.every(({ esmClass }) => esmClass === 0x40)).toBe(true);
    },
  );

  it('keeps interleaved long messages apart', async () => {
    const { smsc, carrier } = await pair({}, '?window=4');
    const texts = Array.from({ length: 20 }, (_, n) => `${n} ${'abc '.repeat(100)}`);
    await Promise.all(texts.map((text) => send(carrier, { text })));
    expect(new Set(smsc.messages().map(({ text }) => text))).toEqual(new Set(texts));
  });

  it('matches responses that come out of order', async () => {
    const { smsc, carrier } = await pair({ answersReversedBy: 5 });
    const recipients = Array.from({ length: 10 }, (_, n) => `+25670000001${n}`);
    const outcomes = await Promise.all(recipients.map((to) => send(carrier, { to })));
    const sids = new Map(smsc.received.map(({ destination, sid }) => [`+${destination.address}`, sid]));
    expect(outcomes).toEqual(recipients.map((to) => ({ kind: 'accepted', sid: sids.get(to) })));
  });

  it('never exceeds the window, and loses nothing under load', async () => {
    const { smsc, carrier } = await pair({ answersReversedBy: 7 }, '?window=7');
    const outcomes = await Promise.all(Array.from({ length: 700 }, () => send(carrier)));
    expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(smsc.received).toHaveLength(700);
    expect(smsc.maxUnanswered).toBe(7);
    expect(carrier.health().inFlight).toBe(0);
  });

  it('works over TLS, only with a trusted certificate', async () => {
    const smsc = await simulator({ tls: true });
    const trusting = connect(smsc, '', { tlsCa: smsc.tlsCa });
    expect(await send(trusting)).toMatchObject({ kind: 'accepted' });
    const wary = connect(smsc);
    await until(() => wary.health().state === 'down');
    expect(wary.health().detail).toMatch(/self-signed/);
  });

  it.each([
    [{ from: 'Ünicode' }, 'ESME_RINVSRCADR'],
    [{ to: 'nobody' }, 'ESME_RINVDSTADR'],
    [{ text: '中' }, 'ESME_RINVMSGLEN'],
  ])('rejects %j without sending it', async (wrong, code) => {
    const { smsc, carrier } = await pair();
    expect(await send(carrier, wrong)).toEqual({
      kind: 'rejected',
      asked: false,
      code,
      reason: expect.any(String),
    });
    expect(smsc.received).toEqual([]);
  });

  it.each<[Partial<SmsSubmission>, string]>([
    [{ from: 'Ünicode' }, 'rejected'],
    [{ text: '中' }, 'rejected'],
    // A fault of the gateway.
    [{ text: undefined as never }, 'unavailable'],
  ])('moves the circuit breaker by what the SMSC did, and not by %j (R588)', async (wrong, kind) => {
    const { smsc, carrier } = await pair({ answer: smpp.errors.ESME_RSYSERR! });
    let nowMs = 0;
    const breaker = new CircuitBreaker(carrier, { failures: 2, restMs: 1_000, now: () => nowMs });
    expect(await send(breaker)).toMatchObject({ kind: 'unavailable', asked: true });
    // Neither the second failure, nor a sign that the SMSC works.
    expect(await send(breaker, wrong)).toMatchObject({ kind, asked: false });
    expect(breaker.health().state).toBe('up');
    await send(breaker);
    expect(breaker.health().state).toBe('down');
    nowMs += 1_000;
    expect(await send(breaker, wrong)).toMatchObject({ kind, asked: false });
    expect(breaker.health().state).toBe('down');
    expect(smsc.received).toHaveLength(2);
    // The next message is the probe, without another rest.
    smsc.behave({ answer: 'accept' });
    expect(await send(breaker)).toMatchObject({ kind: 'accepted' });
    expect(breaker.health().state).toBe('up');
  });

  it('does not send an expired message', async () => {
    const { smsc, carrier } = await pair();
    expect(await send(carrier, { expiresAt: new Date(Date.now() - 1) })).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringMatching(/expired/),
    });
    expect(smsc.received).toEqual([]);
  });
});

describe('refusals by the SMSC', () => {
  it.each([
    [0x0b, 'rejected', 'ESME_RINVDSTADR'],
    [0x45, 'rejected', 'ESME_RSUBMITFAIL'],
    [0x0411, 'rejected', '0x00000411'],
    [0x08, 'unavailable', 'ESME_RSYSERR'],
    [0x14, 'unavailable', 'ESME_RMSGQFUL'],
    [0x58, 'unavailable', 'ESME_RTHROTTLED'],
  ])('status %d is %s', async (answer, kind, code) => {
    const { carrier } = await pair({ answer });
    const outcome = await send(carrier);
    expect(outcome).toMatchObject({ kind, reason: expect.stringContaining(code) });
    if (outcome.kind === 'rejected') expect(outcome.code).toBe(code);
  });

  it('slows down when throttled, says when to retry, and recovers', async () => {
    const { smsc, carrier } = await pair({ answersReversedBy: 8, answer: 'throttle' }, '?window=8', {
      // The pause is so long that all eight answers arrive before it ends, on a busy machine too.
      timing: { ...TIMING, throttlePauseMs: 200 },
    });
    const throttled = await Promise.all(Array.from({ length: 8 }, () => send(carrier)));
    for (const outcome of throttled) {
      expect(outcome).toEqual({
        kind: 'unavailable',
        asked: true,
        reason: expect.stringContaining('ESME_RTHROTTLED'),
        retryAfterMs: expect.any(Number),
        definitelyNotSent: true,
      });
    }
    // The SMSC holds its answers back. So the number of received messages shows the window, which is now half of eight.
    smsc.behave({ answer: 'silent', answersReversedBy: 1 });
    const patience = new AbortController();
    const slow = Array.from({ length: 8 }, () => send(carrier, {}, patience.signal));
    await until(() => smsc.received.length === 8 + 4);
    await quiet(() => smsc.received.length);
    expect(smsc.received).toHaveLength(8 + 4);
    patience.abort();
    smsc.dropConnections();
    await Promise.all(slow);
    smsc.behave({ answer: 'accept' });
    const recovered = await Promise.all(Array.from({ length: 100 }, () => send(carrier)));
    expect(recovered.every(({ kind }) => kind === 'accepted')).toBe(true);
  });

  it('reopens the window one by one after throttling', async () => {
    let throttle = true;
    const { smsc, carrier } = await pair({ answer: () => (throttle ? 'throttle' : 'accept') }, '?window=8');
    await send(carrier);
    throttle = false;
    await Promise.all(Array.from({ length: 60 }, () => send(carrier)));
    smsc.behave({ answer: 'silent' });
    const before = smsc.received.length;
    const patience = new AbortController();
    const held = Array.from({ length: 20 }, () => send(carrier, {}, patience.signal));
    await until(() => smsc.received.length === before + 8);
    patience.abort();
    smsc.dropConnections();
    await Promise.all(held);
    expect(smsc.received).toHaveLength(before + 8);
  });

  it('sends no further part of a long message whose first part is refused', async () => {
    const { smsc, carrier } = await pair({ answer: 0x0b });
    expect(await send(carrier, { text: GSM7_LONG })).toMatchObject({
      kind: 'rejected',
      code: 'ESME_RINVDSTADR',
      reason: expect.stringMatching(/^part 1 of \d: /),
    });
    expect(smsc.received).toHaveLength(1);
  });

  it('fails a long message whose later part is refused, and says that parts may have been sent', async () => {
    const { carrier } = await pair({ answer: ({ index }) => (index === 1 ? 0x0b : 'accept') });
    expect(await send(carrier, { text: GSM7_LONG })).toMatchObject({
      kind: 'rejected',
      reason: expect.stringMatching(/^part 2 of \d: .*other parts may have left$/),
    });
  });

  it('completes a partly sent message in spite of throttling', async () => {
    const { smsc, carrier } = await pair({ answer: ({ index }) => (index === 1 ? 'throttle' : 'accept') });
    expect(await send(carrier, { text: 'a'.repeat(300) })).toEqual({
      kind: 'accepted',
      sid: '1000000',
      partSids: ['1000000', '1000002'],
    });
    expect(smsc.messages()[0]!.text).toBe('a'.repeat(300));
  });

  it('retries a partly sent message under the same reference number', async () => {
    const { smsc, carrier } = await pair({ answer: ({ index }) => (index === 1 ? 0x08 : 'accept') });
    expect(await send(carrier, { text: 'a'.repeat(300), messageId: 'm7' })).toMatchObject({
      kind: 'unavailable',
    });
    expect(await send(carrier, { text: 'b'.repeat(300), messageId: 'm8' })).toMatchObject({
      kind: 'accepted',
    });
    expect(await send(carrier, { text: 'a'.repeat(300), messageId: 'm7' })).toMatchObject({
      kind: 'accepted',
    });
    const references = smsc.received.map(({ octets }) => octets[3]);
    expect(references[4]).toBe(references[0]);
    expect(references[2]).not.toBe(references[0]);
  });
});

describe('silence and lost connections', () => {
  it('gives up a submit without a response, and binds again', async () => {
    const { smsc, carrier } = await pair({ answer: 'silent' }, '', {
      timing: { ...TIMING, submitTimeoutMs: 150 },
    });
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => send(carrier)));
    for (const outcome of outcomes) {
      expect(outcome).toEqual({
        kind: 'unavailable',
        asked: true,
        reason:
          'the SMPP session ended before the answer came (a submission was not answered within 150 ms); it is unknown whether the carrier accepted the message',
      });
    }
    expect(carrier.health().inFlight).toBe(0);
    await until(() => smsc.binds.length === 2);
    smsc.behave({ answer: 'accept' });
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
  });

  it('gives up the messages that wait behind a window without responses, so that another carrier can send them', async () => {
    const { smsc, carrier } = await pair({ answer: 'silent' }, '?window=2', {
      timing: { ...TIMING, submitTimeoutMs: 500 },
    });
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => send(carrier)));
    expect(outcomes.map((outcome) => 'definitelyNotSent' in outcome)).toEqual([
      false,
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(outcomes[2]).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringContaining('does not answer'),
    });
    expect(smsc.received).toHaveLength(2);
    smsc.behave({ answer: 'accept' });
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
  });

  it.each([
    ['', 'hello'],
    ['part 1 of 2: ', 'a'.repeat(300)],
  ])('gives up only the submit that the carrier skips: %s', async (part, text) => {
    const { smsc, carrier } = await pair({ answer: 'silent' }, '', {
      timing: { ...TIMING, submitTimeoutMs: 1_000 },
    });
    const silent = send(carrier, { messageId: 'm1', text });
    await until(() => smsc.received.length === 1);
    smsc.behave({ answer: 'accept' });
    expect(await send(carrier, { messageId: 'm2' })).toMatchObject({ kind: 'accepted' });
    expect(await silent).toEqual({
      kind: 'unavailable',
      asked: true,
      reason: `${part}a submission was not answered within 1000 ms, although later ones were; it is unknown whether the carrier accepted the message`,
      retryAfterMs: 5_000,
      onlyThis: true,
    });
    expect(carrier.health()).toMatchObject({ state: 'up', inFlight: 0 });
    expect(await send(carrier, { messageId: 'm3' })).toMatchObject({ kind: 'accepted' });
    expect(smsc.binds).toHaveLength(1);
  });

  it('does not send again what the carrier accepts after the timeout', async () => {
    const { smsc, carrier, reports } = await pair(
      { answer: 'late', reports: { form: 'text', when: 'after' } },
      '',
      { timing: { ...TIMING, submitTimeoutMs: 1_000 } },
    );
    const given = send(carrier, { messageId: 'm1' });
    const long = send(carrier, { messageId: 'm1', position: 1, text: 'a'.repeat(300) });
    await until(() => smsc.received.length === 2);
    smsc.behave({ answer: 'accept', reports: undefined });
    await send(carrier, { messageId: 'm2' });
    expect(await given).toMatchObject({ kind: 'unavailable', onlyThis: true });
    expect(await long).toMatchObject({ kind: 'unavailable', onlyThis: true });
    smsc.answerLate();
    await until(() => reports.length === 2);
    expect(await send(carrier, { messageId: 'm1', attempt: 1 })).toEqual({
      kind: 'accepted',
      sid: '1000000',
    });
    expect(smsc.received).toHaveLength(3);
    // All parts are sent again with the same reference number, so that the phone shows the message once.
    const again = { messageId: 'm1', position: 1, attempt: 1, text: 'a'.repeat(300) };
    expect(await send(carrier, again)).toMatchObject({ kind: 'accepted', partSids: ['1000003', '1000004'] });
    expect(smsc.received[3]?.octets[3]).toBe(smsc.received[1]?.octets[3]);
    expect(await send(carrier, { messageId: 'm3' })).toMatchObject({ kind: 'accepted', sid: '1000005' });
  });

  it('waits longer than eleven seconds for a slow carrier, and sends nothing twice', async () => {
    const { submitTimeoutMs: _, ...timing } = TIMING;
    const { smsc, carrier } = await pair({ answerDelayMs: 11_000 }, '?window=2', { timing });
    const sent = [send(carrier), send(carrier), send(carrier)];
    await until(() => smsc.received.length === 2);
    // The third submission waits until the first two are answered, because the window is 2.
    smsc.behave({ answerDelayMs: 0 });
    const outcomes = await Promise.all(sent);
    expect(outcomes).toEqual(smsc.received.map(({ sid }) => ({ kind: 'accepted', sid })));
    expect(smsc.binds).toHaveLength(1);
  }, 60_000);

  it('counts an overdue response while others are pending, and submits nothing more in that session', async () => {
    const submitTimeoutMs = 6_000;
    const { smsc, carrier } = await pair({ answersReversedBy: 9 }, '', {
      timing: { ...TIMING, submitTimeoutMs },
    });
    const overdue = send(carrier, { messageId: 'm1' });
    await sleep(submitTimeoutMs / 2);
    const awaited = send(carrier, { messageId: 'm2', text: 'a'.repeat(300) });
    await until(() => carrier.health().state === 'down');
    const fresh = send(carrier, { messageId: 'm3' });
    smsc.behave({ answersReversedBy: 1 });
    expect(await overdue).toEqual({ kind: 'accepted', sid: '1000000' });
    expect(await awaited).toMatchObject({ kind: 'accepted', partSids: ['1000001', '1000002'] });
    expect(await fresh).toMatchObject({ kind: 'accepted' });
    expect(smsc.received.map(({ connection }) => connection)).toEqual([1, 1, 1, 2]);
    expect(smsc.commands).toContain('unbind');
  }, 60_000);

  it('limits what it buffers for an SMSC that does not read', async () => {
    const asked = new smpp.PDU('enquire_link', { sequence_number: 1 }).toBuffer();
    const flood = Buffer.concat(Array.from({ length: 4_096 }, () => asked));
    const closed = Promise.withResolvers<void>();
    const server = net.createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('close', () => closed.resolve());
      socket.once('data', (bytes) => {
        socket.pause();
        const bind = new smpp.PDU(bytes);
        socket.write(bind.response({ system_id: 'deaf' }).toBuffer());
        const more = () => {
          while (!socket.destroyed && socket.write(flood));
        };
        socket.on('drain', more);
        more();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    running.push({ stop: async () => void server.close() });
    const { port } = server.address() as AddressInfo;
    const timing = { ...TIMING, enquireIntervalMs: 20, enquireTimeoutMs: 1_500, reconnectMinMs: 60_000 };
    start({ url: `smpp://gateway:secret@127.0.0.1:${port}`, logger: recorder(), timing });
    await closed.promise;
    await until(() => logged.some(({ message }) => message === 'SMPP session lost'));
    expect(logged.at(-1)?.fields).toMatchObject({ reason: 'enquire_link unanswered for 1500 ms' });
  }, 60_000);

  it('keeps a session with a late enquire_link_resp while anything else arrives', async () => {
    const timing = { ...TIMING, enquireIntervalMs: 20, enquireTimeoutMs: 1_500 };
    const { smsc, carrier } = await pair({ answersEnquireLink: false }, '', { timing });
    let answers = 0;
    const chat = setInterval(() => smsc.send('enquire_link', {}, () => answers++), 100);
    await until(() => answers >= 50).finally(() => clearInterval(chat));
    expect(smsc.binds).toHaveLength(1);
    expect(carrier.health().state).toBe('up');
  });

  it('fails what is in flight when the connection drops, and reconnects', async () => {
    const { smsc, carrier } = await pair({ answer: 'silent' });
    const cut = [send(carrier), send(carrier)];
    await until(() => smsc.received.length === 2);
    expect(carrier.health().inFlight).toBe(2);
    smsc.behave({ answer: 'accept' });
    smsc.dropConnections();
    for (const outcome of await Promise.all(cut)) {
      expect(outcome).toMatchObject({
        kind: 'unavailable',
        reason: expect.stringMatching(/it is unknown whether the carrier accepted the message$/),
      });
    }
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
    expect(smsc.binds).toHaveLength(2);
  });

  it('sends messages that wait for the window in the next session', async () => {
    const { smsc, carrier } = await pair({ answer: 'silent' }, '?window=1');
    const first = send(carrier);
    const second = send(carrier);
    await until(() => smsc.received.length === 1);
    smsc.behave({ answer: 'accept' });
    smsc.dropConnections();
    expect(await first).toMatchObject({ kind: 'unavailable' });
    expect(await second).toMatchObject({ kind: 'accepted' });
  });

  it('reconnects when enquire_link gets no response', async () => {
    const timing = { ...TIMING, enquireIntervalMs: 20, enquireTimeoutMs: 2_000 };
    const { smsc, carrier } = await pair({ answersEnquireLink: false }, '', { timing });
    await until(() => carrier.health().detail === 'enquire_link unanswered for 2000 ms');
    smsc.behave({ answersEnquireLink: true });
    await until(() => carrier.health().state === 'up');
    await until(() => smsc.commands.filter((command) => command === 'enquire_link').length >= 4);
    expect(carrier.health().state).toBe('up');
  });

  it('answers enquire_link, refuses unknown commands, and reconnects after unbind', async () => {
    const { smsc, carrier } = await pair();
    const answers: string[] = [];
    smsc.send('enquire_link', {}, ({ command }) => answers.push(command));
    smsc.send('query_sm', {}, ({ command }) => answers.push(command));
    await until(() => answers.length === 2);
    smsc.send('unbind', {}, ({ command }) => answers.push(command));
    await until(() => smsc.binds.length === 2 && carrier.health().state === 'up');
    expect(answers).toEqual(['enquire_link_resp', 'generic_nack', 'unbind_resp']);
  });

  it.each([
    ['a length that is none', '00000003000000040000000000000001'],
    ['a length beyond all measure', '7fffffff000000040000000000000001'],
    ['a response cut short in a field', '00000015800000040000000000000001' + '0004270001'],
    ['a length beyond the longest message', '00020001000000050000000000000001'],
    ['plain text', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n').toString('hex')],
  ])('survives %s', async (_, bytes) => {
    const { smsc, carrier } = await pair();
    smsc.sendRaw(Buffer.from(bytes, 'hex'));
    await until(() => smsc.binds.length === 2 && carrier.health().state === 'up');
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
    expect(logged.some(({ fields }) => JSON.stringify(fields).includes('malformed PDU'))).toBe(true);
  });

  it.each([20_000, 65_535])('accepts a PDU of %d octets, which SMPP allows', async (octets) => {
    const { smsc, carrier } = await pair();
    const answers: number[] = [];
    const mo = { source_addr: '256700000001', message_payload: Buffer.alloc(octets, 'A') };
    smsc.send('deliver_sm', mo, ({ command_status }) => answers.push(command_status));
    await until(() => answers.length === 1);
    expect(answers).toEqual([0]);
    expect(smsc.binds).toHaveLength(1);
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
  });

  it('refuses a malformed deliver_sm and keeps the session', async () => {
    const { smsc, carrier } = await pair();
    smsc.sendRaw(Buffer.from(`00000025000000050000000000000009${'00'.repeat(17)}04270001`, 'hex'));
    await until(() => smsc.commands.includes('generic_nack'));
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
    expect(smsc.binds).toHaveLength(1);
  });
});

describe('over smpps://', () => {
  const peer = (name: string, options: SmscOptions = {}) => simulator({ tls: identity(name), ...options });

  it('submits messages and takes reports, with the authority that the URL names', async () => {
    const smsc = await peer('server', { reports: { form: 'payload', when: 'after' } });
    const reports: DeliveryReport[] = [];
    const carrier = start(
      { url: `${smsc.url}?ca=${TLS}ca.pem`, logger: recorder(), timing: TIMING },
      async (_name, batch) => void reports.push(...batch),
    );
    expect(await send(carrier, { text: GSM7_LONG })).toMatchObject({ kind: 'accepted' });
    expect(smsc.messages().map(({ text }) => text)).toEqual([GSM7_LONG]);
    await until(() => reports.length === smsc.received.length);
    expect(new Set(reports.map(({ status }) => status))).toEqual(new Set(['delivered']));
    await carrier.stop();
    expect(smsc.commands.at(-1)).toBe('unbind');
  });

  it.each([
    ['without the authority', 'server', '', /unable to|self-signed/],
    ['under another name', 'other-name', `?ca=${TLS}ca.pem`, /does not match/],
    ['of the past', 'expired', `?ca=${TLS}ca.pem`, /expired/],
    ['that signed itself', 'self-signed', `?ca=${TLS}ca.pem`, /self-signed/],
  ])('sends nothing to a peer with a certificate %s', async (_, name, query, fault) => {
    const smsc = await peer(name);
    const carrier = connect(smsc, query, { timing: { ...TIMING, boundWaitMs: 30 } });
    await until(() => carrier.health().state === 'down');
    expect(carrier.health().detail).toMatch(fault);
    expect(await send(carrier)).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
    expect(smsc.binds).toEqual([]);
  });
});

describe('a transmitter and a receiver session (bind=tx+rx) (R209)', () => {
  const BIND = '?bind=tx+rx';
  const commands = (smsc: Smsc) => smsc.binds.map(({ command }) => command);

  it('submits over one and takes reports over the other', async () => {
    const { smsc, carrier, reports } = await pair({ reports: { form: 'text', when: 'after' } }, BIND);
    expect(commands(smsc).sort()).toEqual(['bind_receiver', 'bind_transmitter']);
    expect(await send(carrier, { text: GSM7_LONG })).toMatchObject({ kind: 'accepted' });
    expect(smsc.messages().map(({ text }) => text)).toEqual([GSM7_LONG]);
    await until(() => reports.length === smsc.received.length);
    await until(() => smsc.reports.every(({ answers }) => answers.length === 1));
    expect(smsc.reports.flatMap(({ answers }) => answers)).toEqual(smsc.reports.map(() => 0));
    expect(carrier.health()).toEqual({ name: carrier.name, state: 'up', inFlight: 0 });
    await carrier.stop();
    expect(smsc.commands.filter((command) => command === 'unbind')).toHaveLength(2);
    await until(() => smsc.boundCount === 0);
  });

  it('is configured with a literal or percent-encoded plus sign', async () => {
    const { smsc } = await pair({}, '?bind=tx%2Brx');
    expect(commands(smsc)).toHaveLength(2);
    const { smsc: other } = await pair({}, '?bind=trx');
    expect(commands(other)).toEqual(['bind_transceiver']);
  });

  it.each([
    ['receiver', 'bind_receiver'],
    ['transmitter', 'bind_transmitter'],
  ])('is up only with both sessions, and says that the %s is missing', async (role, refusedBind) => {
    const smsc = await simulator({ refusedBind });
    const carrier = connect(smsc, BIND);
    await until(() => smsc.boundCount === 1 && carrier.health().state === 'down');
    expect(carrier.health().detail).toMatch(new RegExp(`^${role}: bind refused: ESME_RALYBND`));
    smsc.behave({ refusedBind: undefined });
    await until(() => carrier.health().state === 'up');
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
  });

  it('binds the receiver again by itself; meanwhile messages are sent, and their reports come afterwards', async () => {
    const { smsc, carrier, reports } = await pair({ reports: { form: 'text', when: 'after' } }, BIND);
    smsc.behave({ refusedBind: 'bind_receiver' });
    smsc.dropOnly('receivers');
    await until(() => carrier.health().state === 'down');
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
    expect(reports).toEqual([]);
    smsc.behave({ refusedBind: undefined });
    await until(() => reports.length === 1 && carrier.health().state === 'up');
    expect(commands(smsc).filter((command) => command === 'bind_transmitter')).toHaveLength(1);
  });

  it('binds the transmitter again by itself, and then sends what waits', async () => {
    const { smsc, carrier } = await pair({}, BIND);
    smsc.dropOnly('transmitters');
    await until(() => carrier.health().state === 'down');
    expect(carrier.health().detail).toMatch(/^transmitter: /);
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
    expect(commands(smsc).sort()).toEqual(['bind_receiver', 'bind_transmitter', 'bind_transmitter']);
  });

  it('sends enquire_link in both sessions, and closes those without a response', async () => {
    const timing = { ...TIMING, enquireIntervalMs: 20, enquireTimeoutMs: 500 };
    const { smsc, carrier } = await pair({}, BIND, { timing });
    await until(() => smsc.commands.filter((command) => command === 'enquire_link').length >= 4);
    smsc.behave({ answersEnquireLink: false });
    const lost = () =>
      logged
        .filter(({ message }) => message === 'SMPP session lost')
        .map(({ fields }) => Object(fields).role);
    await until(() => new Set(lost()).size === 2);
    smsc.behave({ answersEnquireLink: true });
    await until(() => carrier.health().state === 'up');
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
  });

  it('never exceeds the window', async () => {
    const { smsc, carrier } = await pair({ answersReversedBy: 3 }, `${BIND}&window=3`);
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => send(carrier)));
    expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(smsc.maxUnanswered).toBe(3);
  });
});

describe('binding', () => {
  it('says when the credentials are wrong', async () => {
    const smsc = await simulator();
    const url = smsc.url.replace('secret', 'wrong-password');
    const carrier = start({ url, logger: recorder(), timing: { ...TIMING, boundWaitMs: 30 } });
    await until(() => carrier.health().state === 'down');
    expect(carrier.health().detail).toBe('bind refused: ESME_RINVPASWD (password is invalid)');
    expect(await send(carrier)).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringContaining('ESME_RINVPASWD'),
    });
    expect(logged.some(({ level, message }) => level === 'error' && /check systemId/.test(message))).toBe(
      true,
    );
  });

  it('retries until the SMSC is there, while messages wait', async () => {
    const port = await freePort();
    const carrier = start({
      url: `smpp://gateway:secret@127.0.0.1:${port}`,
      logger: recorder(),
      timing: TIMING,
    });
    expect(carrier.health().state).toBe('starting');
    await until(() => carrier.health().state === 'down');
    expect(carrier.health().detail).toMatch(/ECONNREFUSED/);
    const outcome = send(carrier);
    await simulator({ port });
    expect(await outcome).toMatchObject({ kind: 'accepted' });
  });

  it('gives up a submit when its signal aborts or its wait is over', async () => {
    const smsc = await simulator({ answersBind: false });
    const carrier = connect(smsc, '', { timing: { ...TIMING, boundWaitMs: 40 } });
    expect(await send(carrier)).toMatchObject({ kind: 'unavailable', reason: 'no SMPP session is bound' });
    const aborted = new AbortController();
    const outcome = send(connect(smsc), {}, aborted.signal);
    aborted.abort();
    expect(await outcome).toMatchObject({ kind: 'unavailable' });
  });

  it('does not wait for a bind attempt that comes too late', async () => {
    const timing = { ...TIMING, reconnectMinMs: 60_000, reconnectMaxMs: 60_000 };
    const carrier = start({
      url: `smpp://gateway:secret@127.0.0.1:${await freePort()}`,
      logger: recorder(),
      timing,
    });
    const outcome = await send(carrier);
    expect(outcome).toMatchObject({ kind: 'unavailable', retryAfterMs: expect.any(Number) });
    if (outcome.kind === 'unavailable') expect(outcome.retryAfterMs).toBeGreaterThan(20_000);
  });

  it('gives up a bind without a response', async () => {
    const smsc = await simulator({ answersBind: false });
    const carrier = connect(smsc, '', { timing: { ...TIMING, bindTimeoutMs: 1_000 } });
    await until(() => carrier.health().detail === 'no bind within 1000 ms');
    smsc.behave({ answersBind: true });
    expect(await send(carrier)).toMatchObject({ kind: 'accepted' });
  });

  it.each([
    ['http://gateway:secret@host', /smpp:\/\//],
    ['smpp://host', /systemId/],
    ['smpp://gateway:secret@host?window=0', /window/],
    ['smpp://gateway:secret@host?windows=5', /unknown SMPP parameter windows/],
    ['smpp://gateway:secret@host?validity=maybe', /validity/],
    ['smpp://gateway:secret@host?bind=rx', /bind must be trx or tx\+rx/],
    ['smpp://gateway:secret@host?ca=ca.pem', /ca is for smpps:/],
    [
      'smpps://gateway:secret@host?ca=no-such-file.pem',
      /no-such-file\.pem, named by ca, cannot be read \(ENOENT\)/,
    ],
    [`smpps://gateway:secret@host?ca=${TLS}server.key`, /server\.key, named by ca, holds no certificate/],
  ])('refuses %s', (url, fault) => {
    expect(() => createSmppCarrier({ url, logger: recorder() })).toThrow(fault);
  });
});

describe('delivery reports', () => {
  it.each([
    ['text', 'after'],
    ['text', 'before'],
    ['tlv', 'after'],
    ['tlv', 'before'],
    ['payload', 'after'],
    ['payload', 'before'],
  ] as const)('as %s, %s the submit_sm_resp', async (form, when) => {
    const order: string[] = [];
    const { smsc, carrier, reports } = await pair({ reports: { form, when } }, '', {}, async () => {
      order.push('report');
    });
    const outcome = await send(carrier);
    order.push('outcome');
    await until(() => reports.length === 1 && order.length === 2);
    expect(outcome).toEqual({ kind: 'accepted', sid: '1000000' });
    expect(reports).toEqual([{ sid: '1000000', to: '256700000001', status: 'delivered' }]);
    if (when === 'before') expect(order).toEqual(['report', 'outcome']);
    await until(() => smsc.reports[0]!.answers.length === 1);
    expect(smsc.reports[0]!.answers).toEqual([0]);
  });

  it.each(['text', 'payload'] as const)("give the carrier's code of a failure, as %s", async (form) => {
    const plan = { form, when: 'after', stat: 'UNDELIV', err: '027' } as const;
    const { carrier, reports } = await pair({ reports: plan, messageIds: 'padded' });
    await send(carrier);
    await until(() => reports.length === 1);
    expect(reports[0]).toMatchObject({ sid: '000001000000', status: 'failed', code: 'UNDELIV/027' });
  });

  it('are batched while earlier ones are stored', async () => {
    const batches: number[] = [];
    const gate = Promise.withResolvers<void>();
    const { smsc, carrier } = await pair(
      { reports: { form: 'text', when: 'after' } },
      '',
      {},
      async (batch) => {
        batches.push(batch.length);
        await gate.promise;
      },
    );
    await send(carrier);
    await until(() => batches.length === 1);
    await Promise.all(Array.from({ length: 40 }, () => send(carrier)));
    await until(() => smsc.reports.length === 41);
    expect(smsc.reports.every(({ answers }) => answers.length === 0)).toBe(true);
    gate.resolve();
    await until(() => smsc.reports.every(({ answers }) => answers[0] === 0));
    expect(batches[0]).toBe(1);
    expect(batches.reduce((sum, size) => sum + size)).toBe(41);
    expect(batches.length).toBeLessThan(20);
  });

  it('are acknowledged only when they are stored, so that the SMSC repeats the others', async () => {
    let failures = 2;
    const { smsc, carrier, reports } = await pair(
      { reports: { form: 'tlv', when: 'after' } },
      '',
      {},
      async () => {
        if (failures-- > 0) throw new Error('the database is away');
      },
    );
    await send(carrier);
    await until(() => smsc.reports[0]?.answers.length === 3);
    expect(smsc.reports[0]!.answers).toEqual([0x64, 0x64, 0]);
    expect(reports).toHaveLength(3);
  });

  it('above the limit stay with the SMSC, which sends them again', async () => {
    const gate = Promise.withResolvers<void>();
    const { smsc, reports } = await pair({ repeatReportMs: 200 }, '', {}, () => gate.promise);
    const REPORTS = 6_000;
    for (let n = 0; n < REPORTS; n++) {
      smsc.report(`sid-${n}`, '256700000001', 'SERVICE', { form: 'tlv' });
      // Give the simulator's socket time to work.
      if (n % 500 === 0) await sleep(1);
    }
    await until(() => smsc.reports.filter(({ answers }) => answers[0] === 0x14).length > 0);
    expect(smsc.reports.flatMap(({ answers }) => answers).every((answer) => answer === 0x14)).toBe(true);
    gate.resolve();
    await until(() => smsc.reports.every(({ answers }) => answers.at(-1) === 0));
    expect(new Set(reports.map(({ sid }) => sid)).size).toBe(REPORTS);
    expect(reports).toHaveLength(REPORTS);
    expect(logged.filter(({ message }) => message.includes('faster than they are recorded'))).toHaveLength(1);
  }, 60_000);

  it('without a final state are acknowledged and not reported', async () => {
    const { smsc, reports } = await pair();
    for (const stat of ['ENROUTE', 'ACCEPTD', 'UNKNOWN'])
      smsc.report('7', '256700000001', 'SERVICE', { form: 'text', stat });
    await until(() => smsc.reports.every((report) => report.answers[0] === 0));
    expect(reports).toEqual([]);
  });
});

describe('messages from subscribers', () => {
  const part = Buffer.concat([Buffer.from([5, 0, 3, 7, 2, 1]), Buffer.from('STOP')]);
  it.each([
    ['ASCII', { short_message: Buffer.from('STOP') }, 'STOP'],
    ['GSM-7', { short_message: Buffer.from([0x44, 0x05, 0x1b, 0x65]) }, 'Dé€'],
    ['Latin-1', { short_message: Buffer.from('D\xe9', 'latin1'), data_coding: 3 }, 'Dé'],
    ['UCS-2', { short_message: Buffer.from('ARRÊT', 'utf16le').swap16(), data_coding: 8 }, 'ARRÊT'],
    ['a payload', { short_message: Buffer.alloc(0), message_payload: Buffer.from('Help') }, 'Help'],
    ['a part of a long text', { short_message: part, esm_class: 0x40 }, undefined],
    ['a part by its TLV', { short_message: Buffer.from('STOP'), sar_total_segments: 2 }, undefined],
  ])('are given on and acknowledged afterwards: %s (R380)', async (_, fields, text) => {
    const { smsc } = await pair();
    const answers: number[] = [];
    const from = { source_addr_ton: 1, source_addr: '256700000001', destination_addr: '8080' };
    smsc.send('deliver_sm', { ...from, ...fields }, ({ command_status }) => answers.push(command_status));
    await until(() => answers.length === 1);
    expect(answers).toEqual([0]);
    expect(inbound).toEqual(text === undefined ? [] : [{ sender: '+256700000001', to: '8080', text }]);
  });

  it('are refused for now if they cannot be handled (R380)', async () => {
    const { smsc } = await pair();
    const answers: number[] = [];
    const mo = { source_addr: '0700000001', destination_addr: '8080', short_message: Buffer.from('again') };
    smsc.send('deliver_sm', mo, ({ command_status }) => answers.push(command_status));
    await until(() => answers.length === 1);
    expect(answers).toEqual([0x64]);
    expect(inbound).toEqual([{ sender: '0700000001', to: '8080', text: 'again' }]);
  });
});

describe('stopping', () => {
  it('finishes what is in flight, gives up the rest and unbinds', async () => {
    const { smsc, carrier } = await pair({ answerDelayMs: 60 }, '?window=2');
    const outcomes = Array.from({ length: 4 }, () => send(carrier));
    await until(() => smsc.received.length === 2);
    await carrier.stop();
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual([
      'accepted',
      'accepted',
      'unavailable',
      'unavailable',
    ]);
    expect(smsc.commands.at(-1)).toBe('unbind');
    await until(() => smsc.boundCount === 0);
    expect(carrier.health()).toMatchObject({ state: 'down', detail: 'stopped' });
    expect(await send(carrier)).toMatchObject({ kind: 'unavailable' });
  });

  it('waits for a limited time', async () => {
    const { smsc, carrier } = await pair({ answer: 'silent' }, '', {
      timing: { ...TIMING, stopGraceMs: 30 },
    });
    const outcome = send(carrier);
    await until(() => smsc.received.length === 1);
    await carrier.stop();
    expect(await outcome).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringMatching(/it is unknown whether the carrier accepted the message$/),
    });
  });

  it('ends also while it connects', async () => {
    const smsc = await simulator({ answersBind: false });
    const carrier = connect(smsc);
    await until(() => smsc.binds.length === 1);
    await Promise.all([carrier.stop(), carrier.stop()]);
    expect(carrier.health().state).toBe('down');
  });
});

async function simulator(options: SmscOptions = {}): Promise<Smsc> {
  const smsc = await startSmsc(options);
  running.push(smsc);
  return smsc;
}

function start(options: SmppCarrierOptions, sink: ReportSink = async () => {}): Provider<SmsSubmission> {
  const carrier = createSmppCarrier(options);
  running.push(carrier);
  carrier.start(sink, async (name, message) => {
    expect(name).toBe(carrier.name);
    inbound.push(message);
    if (message.text === 'again') throw new Error('not now');
  });
  return carrier;
}

function connect(smsc: Smsc, query = '', options: Partial<SmppCarrierOptions> = {}): Provider<SmsSubmission> {
  return start({ url: smsc.url + query, logger: recorder(), timing: TIMING, ...options });
}

/** Starts a simulator and a carrier that is bound to it. Collects the carrier's reports. */
async function pair(
  behaviour: SmscOptions = {},
  query = '',
  options: Partial<SmppCarrierOptions> = {},
  onReports: (reports: readonly DeliveryReport[]) => Promise<void> = async () => {},
) {
  const smsc = await simulator(behaviour);
  const reports: DeliveryReport[] = [];
  const carrier = start(
    { url: smsc.url + query, logger: recorder(), timing: TIMING, ...options },
    (name, batch) => {
      expect(name).toBe(carrier.name);
      reports.push(...batch);
      return onReports(batch);
    },
  );
  await until(() => carrier.health().state === 'up');
  return { smsc, carrier, reports };
}

function send(
  carrier: Provider<SmsSubmission>,
  submission: Partial<SmsSubmission> = {},
  signal: AbortSignal = new AbortController().signal,
): Promise<SubmitOutcome> {
  return carrier.submit(
    {
      messageId: 'm1',
      position: 0,
      to: '+256700000001',
      from: 'SERVICE',
      text: 'hello',
      encoding: 'GSM-7',
      segments: 1,
      attempt: 0,
      expiresAt: new Date(Date.now() + 86_400_000),
      ...submission,
    },
    signal,
  );
}

function recorder(): Logger {
  const write = (level: string) => (fields: object, message: string) =>
    void logged.push({ level, fields, message });
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => logger,
  };
  return logger;
}

/** Waits until `fact` returns true. */
async function until(fact: () => boolean): Promise<void> {
  await eventually(fact);
}

/** Waits until a count no longer grows. Tests use it before they expect that something did not happen. */
async function quiet(count: () => number): Promise<void> {
  for (let last = -1; last !== count(); ) {
    last = count();
    await sleep(40);
  }
}
