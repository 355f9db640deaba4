import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { startSmsc } from '../support/smsc.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

describe('with OTEL_EXPORTER_OTLP_ENDPOINT (R346)', () => {
  /** A receiver of OTLP over HTTP in JSON, as a collector is. */
  let collector: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let smsc: Awaited<ReturnType<typeof startSmsc>>;
  let gateway: TestGateway;
  let owner: TestAccount;

  beforeAll(async () => {
    collector = await startWebhookReceiver();
    receiver = await startWebhookReceiver((_hook, count) => (count === 1 ? 503 : 200));
    smsc = await startSmsc({ reports: { form: 'text', when: 'after' } });
    gateway = await startTestGateway({
      SMS_ROUTES: `*=smpp://gateway:secret@127.0.0.1:${smsc.port}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    owner = await gateway.createAccount();
    const body = { url: receiver.url, events: ['sms.sent'] };
    await gateway.call('POST', '/developers/webhooks', { key: owner.key, body });
  });
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([collector?.stop(), receiver?.stop(), smsc?.stop()]);
  });

  const spansOf = (messageId: string): ReceivedSpan[] =>
    collector.received
      .flatMap(({ body }) => body.resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .filter(({ traceId }: ReceivedSpan) => traceId === messageId.replaceAll('-', ''));

  it('one trace has the request, the batch, the submission, the report and the webhook attempts', async () => {
    const caller = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
    const answer = await gateway.call('POST', '/developers/sms', {
      key: owner.key,
      body: { to: '+256700000001', message: 'Followed.' },
      headers: { traceparent: `00-${caller.traceId}-${caller.spanId}-01`, 'X-Request-Id': 'from-the-shop' },
    });
    expect(answer.headers.get('X-Request-Id')).toBe('from-the-shop');
    const messageId: string = answer.body.id;
    const spans = await eventually(() => {
      const found = spansOf(messageId);
      return found.length >= 6 && found;
    });
    const named = Map.groupBy(spans, ({ name }) => name);
    expect([...named].map(([name, own]) => [name, own.length]).toSorted()).toEqual([
      ['accept sms', 1],
      ['await report', 1],
      ['commit batch', 1],
      ['submit', 1],
      ['webhook', 2],
    ]);
    const root = named.get('accept sms')![0]!;
    expect(root.parentSpanId || undefined).toBeUndefined();
    expect(root.links).toEqual([expect.objectContaining(caller)]);
    const facts = Object.fromEntries(root.attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
    expect(facts).toMatchObject({ 'gateway.request.id': 'from-the-shop', 'messaging.message.id': messageId });
    for (const span of spans) {
      if (span !== root) expect(span.parentSpanId).toBe(root.spanId);
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    }
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    // The header that the receiver gets names the span of the attempt.
    const attempts = named.get('webhook')!;
    expect(attempts.map(({ status }) => status.code ?? 0).toSorted()).toEqual([0, 2]);
    const headers = receiver.received.map((hook) => hook.headers.traceparent);
    expect(headers.toSorted()).toEqual(
      attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`).toSorted(),
    );
  });

  it('a traceparent that is none is ignored, and a refused request leaves no trace', async () => {
    const headers = { traceparent: '00-00000000000000000000000000000000-0000000000000000-01' };
    const refused = await gateway.call('POST', '/developers/sms', { key: owner.key, body: {}, headers });
    expect(refused.status).toBe(400);
    const body = { to: '+256700000002', message: 'Alone.' };
    const { id } = (await gateway.call('POST', '/developers/sms', { key: owner.key, body, headers })).body;
    const root = await eventually(() => spansOf(id).find(({ name }) => name === 'accept sms'));
    expect(root.links ?? []).toEqual([]);
    const accepted = collector.received
      .flatMap(({ body: { resourceSpans } }) => resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans[0].spans)
      .filter(({ name }: ReceivedSpan) => name === 'accept sms');
    expect(accepted).toHaveLength(2);
  });
});

it.each<[string, Record<string, string>]>([
  ['without OTEL_EXPORTER_OTLP_ENDPOINT', {}],
  ['of a share of 0', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_TRACES_SAMPLER_ARG: '0' }],
])('%s no message is traced, and webhooks carry no traceparent (R346)', async (_what, environment) => {
  await using gateway = await startTestGateway(environment);
  expect(gateway.parts.tracing === undefined).toBe(environment.OTEL_TRACES_SAMPLER_ARG === undefined);
  const receiver = await startWebhookReceiver();
  try {
    const { key } = await gateway.createAccount();
    await gateway.call('POST', '/developers/webhooks', {
      key,
      body: { url: receiver.url, events: ['sms.sent'] },
    });
    await gateway.call('POST', '/developers/sms', {
      key,
      body: { to: '+256700000009', message: 'Untraced.' },
    });
    const hook = await receiver.waitFor(() => true);
    expect(hook.headers.traceparent).toBeUndefined();
  } finally {
    await receiver.stop();
  }
});
