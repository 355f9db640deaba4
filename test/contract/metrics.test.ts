import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config/config.ts';
import { PrometheusMeasurements } from '../../src/http/measurements.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { startProbeServer } from '../../src/http/probes.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { graphql } from '../support/graphql.ts';
import { readMetrics } from '../support/metrics.ts';
import { startSmsApi, twilioAnswer, twilioError } from '../support/sms-api.ts';
import { startSmsc } from '../support/smsc.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

const RUNBOOK = 'docs/operations/runbook.md';

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: object;
}

describe('/metrics moves with traffic (R345)', () => {
  let gateway: TestGateway;
  let owner: TestAccount;
  let smsc: Awaited<ReturnType<typeof startSmsc>>;
  let api: Awaited<ReturnType<typeof startSmsApi>>;
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>;
  let smpp: string;
  let twilio: string;

  beforeAll(async () => {
    smsc = await startSmsc({ reports: { form: 'text', when: 'after' } });
    let count = 0;
    api = await startSmsApi(({ path, form }) => {
      if (path.endsWith('/Balance.json')) {
        return { status: 200, body: { account_sid: 'AC0123', balance: '12.50', currency: 'usd' } };
      }
      count += 1;
      const isBarred = form.get('To')?.endsWith('66');
      return isBarred ? twilioError(400, 21610, 'unsubscribed') : twilioAnswer(form, `SM${count}`);
    });
    receiver = await startWebhookReceiver((_hook, count) => (count === 1 ? 500 : 200));
    gateway = await startTestGateway({
      SMS_ROUTES: `256=smpp://gateway:secret@127.0.0.1:${smsc.port},*=twilio://AC0123:secret@${api.host}`,
      DATABASE_POOL_SIZE: '7',
      // No server is there. The metrics of a replica exist all the same.
      DATABASE_READ_URL: 'postgres://gateway@127.0.0.1:1/gateway',
    });
    owner = await gateway.createAccount();
    [smpp, twilio] = [`smpp:gateway@127.0.0.1:${smsc.port}`, `twilio:AC0123@${api.host}`];
    await gateway.call('POST', '/developers/webhooks', {
      key: owner.key,
      body: { url: receiver.url, events: ['sms.sent', 'sms.failed'] },
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await Promise.all([smsc?.stop(), api?.stop(), receiver?.stop()]);
  });

  const send = async (to: string) => {
    const answer = await gateway.call('POST', '/developers/sms', {
      key: owner.key,
      body: { to, message: 'Counted.' },
    });
    expect(answer.status).toBe(200);
  };

  it('counts accepted, submitted, reported, failed and refunded recipients, and webhook attempts', async () => {
    await send('+256700000001,+256700000002');
    await send('+447700900066');
    const metrics = await eventually(async () => {
      const read = await readMetrics(gateway.processUrl);
      const attempts = read.sum('gateway_webhook_attempt_duration_seconds_count');
      const delivered = read.sum('gateway_outcomes_total', { status: 'delivered' });
      return attempts >= 3 && delivered === 2 && read;
    });
    const sms = { channel: 'sms' };
    expect(metrics.sum('gateway_accepted_recipients_total', { ...sms, environment: 'production' })).toBe(3);
    const submitted = 'gateway_submit_duration_seconds_count';
    expect(metrics.sum(submitted, { provider: smpp, outcome: 'accepted' })).toBe(2);
    expect(metrics.sum(submitted, { provider: twilio, outcome: 'rejected' })).toBe(1);
    expect(
      metrics.sum('gateway_outcomes_total', { ...sms, provider: smpp, status: 'sent', reason: '' }),
    ).toBe(2);
    const failed = { ...sms, provider: twilio, status: 'failed', reason: '21610' };
    expect(metrics.sum('gateway_outcomes_total', failed)).toBe(1);
    expect(metrics.sum('gateway_delivery_reports_total', { provider: smpp, status: 'delivered' })).toBe(2);
    expect(metrics.sum('gateway_report_duration_seconds_count', { provider: smpp })).toBe(2);
    expect(metrics.sum('gateway_refunds_total')).toBe(1);
    const attempted = 'gateway_webhook_attempt_duration_seconds_count';
    expect(metrics.sum(attempted, { result: '5xx' })).toBe(1);
    expect(metrics.sum(attempted, { result: '2xx' })).toBeGreaterThanOrEqual(2);
  });

  it('counts refused requests of both APIs by code, and nothing of a dry run', async () => {
    const before = await readMetrics(gateway.processUrl);
    expect((await gateway.call('POST', '/developers/sms', { key: 'msg_no_key', body: {} })).status).toBe(401);
    const poor = await gateway.createAccount(0);
    const body = { to: '+256700000003', message: 'Too dear.' };
    expect((await gateway.call('POST', '/developers/sms', { key: poor.key, body })).status).toBe(402);
    const variables = { email: owner.email, password: owner.password };
    const signIn =
      'mutation ($email: String!, $password: String!) { signIn(email: $email, password: $password) { token } }';
    const { data } = (await graphql(gateway, signIn, { variables })).body;
    const dry = 'mutation { sendSms(input: {to: "+256700000004", message: "Dry."}, dryRun: true) { id } }';
    const answered = await graphql(gateway, dry, { token: data.signIn.token });
    expect(answered.body.errors).toBeUndefined();
    await graphql(gateway, signIn, { variables: { ...variables, password: 'wrong' } });
    const after = await readMetrics(gateway.processUrl);
    const grown = (name: string, labels: Record<string, string>) =>
      after.sum(name, labels) - before.sum(name, labels);
    expect(grown('gateway_refused_requests_total', { code: 'insufficient_balance' })).toBe(1);
    expect(grown('gateway_refused_requests_total', { code: 'unauthorized' })).toBeGreaterThanOrEqual(1);
    expect(after.sum('gateway_refused_requests_total') - before.sum('gateway_refused_requests_total')).toBe(
      3,
    );
    expect(grown('gateway_accepted_recipients_total', {})).toBe(0);
  });

  it('shows how long the oldest message and delivery wait, and 0 when none does', async () => {
    const idle = await eventually(async () => {
      const read = await readMetrics(gateway.processUrl);
      return read.sum('gateway_oldest_waiting_delivery_seconds') === 0 && read;
    });
    expect(idle.sum('gateway_oldest_pending_message_seconds')).toBe(0);
    smsc.behave({ answer: 'throttle' });
    await send('+256700000005');
    const waiting = await eventually(async () => {
      const read = await readMetrics(gateway.processUrl);
      return read.sum('gateway_oldest_pending_message_seconds') > 0 && read;
    });
    expect(waiting.sum('gateway_oldest_pending_message_seconds')).toBeLessThan(3_600);
    smsc.behave({ answer: 'accept' });
    await eventually(
      async () => (await readMetrics(gateway.processUrl)).sum('gateway_oldest_pending_message_seconds') === 0,
    );
  });

  it('shows balances, the pools, the disk and the lag of the feed', async () => {
    const metrics = await eventually(async () => {
      const read = await readMetrics(gateway.processUrl);
      return read.sum('gateway_provider_balance') > 0 && read;
    });
    expect(metrics.sum('gateway_provider_balance', { provider: twilio, currency: 'USD' })).toBe(12.5);
    expect(metrics.sum('gateway_database_connections', { pool: 'main', state: 'max' })).toBe(7);
    const open = (state: string) => metrics.sum('gateway_database_connections', { pool: 'main', state });
    expect(open('used') + open('idle')).toBeGreaterThan(0);
    expect(metrics.sum('gateway_disk_free_bytes')).toBeGreaterThan(0);
    expect(metrics.sum('gateway_disk_size_bytes')).toBeGreaterThan(metrics.sum('gateway_disk_free_bytes'));
    expect(metrics.sum('gateway_feed_lag_seconds')).toBeGreaterThan(0);
  });

  it('keeps to the conventions, with labels of few values and no ids', async () => {
    const { families, samples } = await readMetrics(gateway.processUrl);
    const own = [...families].filter(([name]) => name.startsWith('gateway_'));
    expect(own.length).toBeGreaterThan(25);
    for (const [name, { type, help }] of own) {
      expect(`${name}: ${help}`).toMatch(/: .+\.$/);
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      expect(name).not.toMatch(/_(ms|milliseconds|kb|mb|percent)$/);
    }
    const labels = new Set(
      samples
        .filter(({ name }) => name.startsWith('gateway_'))
        .flatMap((sample) => Object.keys(sample.labels)),
    );
    const known = ['channel', 'code', 'currency', 'environment', 'kind', 'le', 'method', 'outcome', 'pool'];
    const others = ['provider', 'queue', 'reason', 'result', 'server', 'state', 'status'];
    expect([...labels].filter((label) => ![...known, ...others].includes(label))).toEqual([]);
    const ids = new RegExp(`${owner.accountId}|${owner.key.split('_')[1]}|25670000`);
    expect(samples.filter((sample) => ids.test(JSON.stringify(sample.labels)))).toEqual([]);
  });

  it('are all explained in docs/operations/metrics.md', async () => {
    const text = readFileSync('docs/operations/metrics.md', 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('| `'));
    const explained = rows.flatMap((row) =>
      [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    const { families } = await readMetrics(gateway.processUrl);
    const own = [...families.keys()].filter((name) => name.startsWith('gateway_'));
    expect(explained.toSorted()).toEqual(own.toSorted());
  });

  it('are what the board and the 12 alerts ask for, and each alert has its section in the runbook', async () => {
    const { families } = await readMetrics(gateway.processUrl);
    const [board, alerts, runbook] = [
      'deploy/grafana/gateway.json',
      'deploy/prometheus/alerts.yml',
      RUNBOOK,
    ].map((path) => readFileSync(path, 'utf8'));
    const asked = (text: string) =>
      new Set(
        [...text.matchAll(/\b(?:gateway|process|nodejs)_\w+/g)].map(([name]) =>
          name.replace(/_(bucket|sum|count)$/, ''),
        ),
      );
    const { panels } = JSON.parse(board!) as { panels: { targets?: { expr: string }[] }[] };
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(queries.length).toBeGreaterThan(30);
    expect([...asked(queries.join('\n'))].filter((name) => !families.has(name))).toEqual([]);
    const { rules } = parse(alerts!).groups[0] as { rules: AlertRule[] };
    expect(rules).toHaveLength(12);
    for (const { alert, expr, labels, annotations } of rules) {
      expect([...asked(expr)].filter((name) => !families.has(name))).toEqual([]);
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations).toEqual({
        summary: expect.any(String),
        runbook: `${RUNBOOK}#${alert.toLowerCase()}`,
      });
    }
    const sections = [
      ...runbook!.matchAll(/^## (\w+)\n\n\*\*Means\.\*\* .+\n\*\*Check\.\*\* .+\n\*\*Do\.\*\* .+$/gm),
    ];
    expect(sections.map(([, name]) => name)).toEqual(rules.map(({ alert }) => alert));
  });

  it('gives the first 50 reasons of a provider a series, and counts further ones as other', () => {
    const registry = new Registry();
    const measurements = new PrometheusMeasurements(registry);
    const recipient = { messageId: '', position: 0, at: new Date() };
    const move = (reason: string) =>
      ({
        ...recipient,
        channel: 'sms',
        provider: 'many',
        status: 'failed',
        reason,
        reportSeconds: null,
      }) as const;
    measurements.moved(Array.from({ length: 60 }, (_, index) => move(`err ${index}`)));
    measurements.moved([move('err 3')]);
    return registry.getSingleMetricAsString('gateway_outcomes_total').then((text) => {
      const lines = text.split('\n').filter((line) => line.includes('provider="many"'));
      expect(lines).toHaveLength(51);
      expect(lines.find((line) => line.includes('reason="err_3"'))).toMatch(/ 2$/);
      expect(lines.find((line) => line.includes('reason="other"'))).toMatch(/ 10$/);
    });
  });
});

it('METRICS_PORT serves health and metrics of a process without the API, and nothing else (R345)', async () => {
  const metricsPort = await freePort();
  await using gateway = await startTestGateway({ ROLES: 'worker' });
  const config = parseConfig({ DATA_DIR: gateway.dataDir, METRICS_PORT: String(metricsPort) });
  const metrics = createMetrics(gateway.parts);
  const server = await startProbeServer(gateway.parts, { ...config, metricsPort }, metrics);
  try {
    const url = `http://127.0.0.1:${metricsPort}`;
    expect((await readMetrics(url)).sum('gateway_database_connections', { pool: 'main', state: 'max' })).toBe(
      5,
    );
    expect(await (await fetch(`${url}/health/live`)).json()).toEqual({ status: 'live' });
    expect(await (await fetch(`${url}/health/ready`)).json()).toEqual({ status: 'ready' });
    expect((await fetch(`${url}/api/v1/developers/account`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { headers: { 'X-Forwarded-For': '127.0.0.1' } })).status).toBe(401);
    const taken = startProbeServer(gateway.parts, { ...config, metricsPort }, metrics);
    await expect(taken).rejects.toThrow('Set METRICS_PORT to a free port.');
  } finally {
    await server.close();
  }
});
