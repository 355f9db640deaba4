import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProviderState } from '../../src/domain/ports/routing.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { graphql, signInOperator } from '../support/graphql.ts';
import { startSmsc } from '../support/smsc.ts';

const QUERY = `{ providers { name channel prefixes state detail submitted rejected failed inFlight
  lastError lastErrorAt lastSuccessAt process seenAt } }`;

interface Health {
  readonly name: string;
  readonly state: string;
  readonly submitted: number;
  readonly failed: number;
}

describe("carriers' health", () => {
  let api: TestGateway;
  let worker: TestGateway;
  let token: string;
  beforeAll(async () => {
    const SMS_ROUTES = '256=simulator:,44=simulator:,*=smpp://shop:pa55word@127.0.0.1:1';
    api = await startTestGateway({ ROLES: 'api', SMS_ROUTES });
    worker = await startTestGateway({ ROLES: 'worker', SMS_ROUTES }, api.database);
    token = await signInOperator(api);
  });
  afterAll(async () => {
    await worker?.stop();
    await api?.stop();
  });

  const look = async (): Promise<{ providers: Health[]; text: string }> => {
    const { body, text } = await graphql(api, QUERY, { token });
    return { providers: body.data.providers, text };
  };
  /** Waits until `holds` is true for a provider, and returns that provider. */
  const said = (name: string, holds: (health: Health) => boolean) =>
    eventually(async () => {
      const found = (await look()).providers.find((health) => health.name.startsWith(name));
      return found && holds(found) && found;
    });

  it('is the report of another process about its own carriers, without passwords', async () => {
    const { key } = await api.createAccount();
    const send = (to: string) => api.call('POST', '/developers/sms', { key, body: { to, message: 'Hello' } });
    for (const to of ['+256700123456', '+256700120001', '+12025550123']) {
      expect((await send(to)).status).toBe(200);
    }
    const simulator = await said('simulator', ({ submitted }) => submitted === 2);
    expect(simulator).toMatchObject({
      channel: 'SMS',
      prefixes: ['256', '44'],
      state: 'UP',
      detail: null,
      rejected: 1,
      failed: 0,
      lastError: null,
      lastErrorAt: null,
      lastSuccessAt: expect.any(String),
      process: expect.stringMatching(new RegExp(`:${process.pid}$`)),
    });
    const smpp = await said('smpp', ({ failed }) => failed > 0);
    expect(smpp).toMatchObject({
      name: 'smpp:shop@127.0.0.1:1',
      prefixes: [''],
      state: 'DOWN',
      detail: expect.stringMatching(/./),
      lastError: expect.stringMatching(/no SMPP session is bound/),
      lastErrorAt: expect.any(String),
      lastSuccessAt: null,
    });
    const { text, providers } = await look();
    expect(text).not.toContain('pa55word');
    const channels = new Set(providers.map((health) => (health as Health & { channel: string }).channel));
    expect([...channels].sort()).toEqual(['EMAIL', 'PUSH', 'SMS', 'WHATSAPP']);
  });

  /** Returns the provider metrics of the process that has no worker. */
  const measured = async () => {
    const text = await (await fetch(`${api.processUrl}/metrics`)).text();
    return Object.fromEntries(
      [...text.matchAll(/^gateway_provider_up\{provider="([^"]*)"\} (\d)$/gm)].map(([, name, up]) => [
        name,
        up,
      ]),
    );
  };

  it('can be read from a process without carriers of its own', async () => {
    await said('smpp', ({ state }) => state === 'DOWN');
    expect(await measured()).toMatchObject({ simulator: '1', 'smpp:shop@127.0.0.1:1': '0' });
    const { providerHealth } = api.parts.stores;
    const simulator = api.parts.routing.status().find(({ name }) => name === 'simulator');
    if (!simulator) throw new Error('there is a simulator');
    const say = (state: ProviderState) =>
      providerHealth.publish('other:1', [{ ...simulator, state }], new Date(), new Date(0));
    await say('degraded');
    expect(await measured()).toMatchObject({ simulator: '1' });
    await say('down');
    expect(await measured()).toMatchObject({ simulator: '0' });
    await providerHealth.withdraw('other:1');
  });

  it('distinguishes two routes to one SMSC, in metrics and in GraphQL', async () => {
    const smsc = await startSmsc({ systemId: 'shop', password: 'pa55word' });
    const name = `smpp:shop@127.0.0.1:${smsc.port}`;
    const SMS_ROUTES = `256=${smsc.url}?window=10,*=${smsc.url}?window=5&bind=tx+rx`;
    await using twins = await startTestGateway({
      SMS_ROUTES,
      EMAIL_URL: 'smtp://127.0.0.1:1|smtp://127.0.0.1:1?requireTLS',
    });
    const operator = await signInOperator(twins);
    await eventually(() => smsc.boundCount === 3);
    const providers = await eventually(async () => {
      const { body } = await graphql(twins, QUERY, { token: operator });
      const found = body.data.providers.filter((each: { name: string }) => /^smpp|^smtp/.test(each.name));
      return found.length === 4 && found[2].state === 'UP' && found[3].state === 'UP' && found;
    });
    expect(providers.map((each: { name: string; prefixes: string[] }) => [each.name, each.prefixes])).toEqual(
      [
        ['smtp:127.0.0.1:1', ['']],
        ['smtp:127.0.0.1:1#2', ['']],
        [name, ['256']],
        [`${name}#2`, ['']],
      ],
    );
    const text = await (await fetch(`${twins.processUrl}/metrics`)).text();
    expect(text).toContain(`gateway_provider_up{provider="${name}"} 1`);
    expect(text).toContain(`gateway_provider_up{provider="${name}#2"} 1`);
    expect(text).not.toContain('pa55word');

    // The SMSC may send a report on any of the account's sessions, not only on the one that submitted the message.
    const { key } = await twins.createAccount();
    const sent = [];
    for (const to of ['+256700123456', '+12025550123']) {
      sent.push(
        (await twins.call('POST', '/developers/sms', { key, body: { to, message: 'Hello' } })).body.id,
      );
    }
    await eventually(() => smsc.received.length === 2);
    for (const { sid, destination, source } of smsc.received) {
      smsc.report(sid, destination.address, source.address, { form: 'payload' });
    }
    for (const id of sent) {
      await eventually(async () => {
        const { body } = await twins.call('GET', `/developers/sms/${id}`, { key });
        return body.status === 'delivered';
      });
    }
    await twins.stop();
    await smsc.stop();
  });

  it('disappears with its process', async () => {
    await worker.stop();
    expect((await look()).providers).toEqual([]);
    expect(await measured()).toEqual({});
  });

  it('disappears also when the process could not say that it ends', async () => {
    const { providerHealth } = api.parts.stores;
    const [status] = api.parts.routing.status();
    if (!status) throw new Error('there are carriers');
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
    await providerHealth.publish('dead:1', [status], ago(80), ago(600));
    await providerHealth.publish('alive:1', [status], ago(70), ago(600));
    const processes = async () =>
      (await look()).providers.map((health) => (health as Health & { process: string }).process);
    expect(await processes()).toEqual(['alive:1']);
    // The next publication deletes entries of this age.
    await providerHealth.publish('alive:1', [], ago(0), ago(75));
    expect(await providerHealth.publishedSince(new Date(0))).toEqual([]);
  });
});
