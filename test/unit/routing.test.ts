import { describe, expect, it } from '@jest/globals';
import { createRouting } from '../../src/channels/routing.ts';
import type { Provider, ProviderOutcome, Submission } from '../../src/domain/ports/provider.ts';
import { routeOfNumber } from '../../src/domain/senders/whatsapp-numbers.ts';

const signal = new AbortController().signal;
const submission = {} as Submission;

function provider(
  name: string,
  outcome: ProviderOutcome,
): Provider<Submission> & { asked: number; stopped: number } {
  const made = {
    name,
    asked: 0,
    stopped: 0,
    start: () => undefined,
    async submit() {
      made.asked += 1;
      return outcome;
    },
    async stop() {
      made.stopped += 1;
    },
    health: () => ({ name, state: 'up' as const, inFlight: 0 }),
  };
  return made;
}

describe('two providers with one name', () => {
  it('have different labels in health and status, but match reports under one name', async () => {
    const twin = () => provider('smpp:shop@smsc:2775', { kind: 'accepted', sid: '1' });
    const [first, second, other] = [twin(), twin(), provider('other', { kind: 'accepted', sid: '1' })];
    const twins = createRouting([
      { channel: 'sms', prefix: '256', providers: [first, other] },
      { channel: 'sms', prefix: '', providers: [second, first] },
    ]);
    const labels = ['smpp:shop@smsc:2775', 'other', 'smpp:shop@smsc:2775#2'];
    expect(twins.health().map(({ name }) => name)).toEqual(labels);
    expect(twins.status().map(({ name, prefixes }) => [name, prefixes])).toEqual([
      [labels[0], ['256', '']],
      [labels[1], ['256']],
      [labels[2], ['']],
    ]);
    expect(twins.providers('sms:*').map(({ name }) => name)).toEqual([first.name, first.name]);
  });
});

describe('routing', () => {
  const dead = provider('dead', { kind: 'unavailable', asked: true, reason: 'no answer' });
  const alive = provider('alive', { kind: 'accepted', sid: '1' });
  const routing = createRouting([
    { channel: 'sms', prefix: '', providers: [dead, alive] },
    { channel: 'sms', prefix: '256', providers: [dead] },
    { channel: 'sms', prefix: '25677', providers: [alive] },
    { channel: 'email', prefix: '', providers: [alive] },
  ]);

  it('the longest matching prefix of the channel wins (R225)', () => {
    expect(routing.routeFor('sms', '+256771234567')).toBe('sms:25677');
    expect(routing.routeFor('sms', '+256701234567')).toBe('sms:256');
    expect(routing.routeFor('sms', '+447911123456')).toBe('sms:*');
    expect(routing.routeFor('email', '256@example.com')).toBe('email:*');
    expect(routing.routeFor('push', 'ios:x')).toBeUndefined();
    expect(routing.providers('sms:*').map(({ name }) => name)).toEqual(['dead', 'alive']);
    expect(routing.providers('sms:999')).toEqual([]);
  });

  it('a provider that fails in one route is paused in all its routes', async () => {
    const [first] = routing.providers('sms:*');
    for (let time = 0; time < 3; time++) await first?.submit(submission, signal);
    const [same] = routing.providers('sms:256');
    for (let time = 0; time < 3; time++) await same?.submit(submission, signal);
    expect(dead.asked).toBe(5);
    expect(await first?.submit(submission, signal)).toMatchObject({
      kind: 'unavailable',
      asked: false,
      definitelyNotSent: true,
    });
    expect(routing.health().map(({ name, state }) => [name, state])).toEqual([
      ['dead', 'down'],
      ['alive', 'up'],
    ]);
  });

  it('stops each provider once, even if several routes name it', async () => {
    await routing.stop();
    expect([dead.stopped, alive.stopped]).toEqual([1, 1]);
  });
});

describe('WhatsApp numbers of accounts', () => {
  const made = new Map<string, ReturnType<typeof provider>>();
  const shared = provider('whatsapp:1', { kind: 'accepted', sid: '1' });
  const routes = [{ channel: 'whatsapp' as const, prefix: '', providers: [shared] }];
  const routing = createRouting(routes, undefined, (id) => {
    const one = provider(`whatsapp:${id}`, { kind: 'accepted', sid: id });
    made.set(id, one);
    return one;
  });
  const names = () => routing.health().map(({ name }) => name);

  it('get a provider each, once, that is no provider of the channel (R555)', () => {
    expect(names()).toEqual(['whatsapp:1']);
    const [first] = routing.providers(routeOfNumber('2'));
    expect(first?.name).toBe('whatsapp:2');
    expect(routing.providers(routeOfNumber('2'))[0]).toBe(first);
    routing.keepNumbers(['2', '3']);
    expect(routing.providers(routeOfNumber('2'))[0]).toBe(first);
    expect(names()).toEqual(['whatsapp:1', 'whatsapp:2', 'whatsapp:3']);
    expect(routing.status().map(({ name, channel, prefixes }) => [name, channel, prefixes])).toEqual([
      ['whatsapp:1', 'whatsapp', ['']],
      ['whatsapp:2', 'whatsapp', []],
      ['whatsapp:3', 'whatsapp', []],
    ]);
    expect(routing.routeFor('whatsapp', '+256700123456')).toBe('whatsapp:*');
  });

  it('lose it when no account has them any more (R555)', async () => {
    routing.keepNumbers(['3']);
    expect(names()).toEqual(['whatsapp:1', 'whatsapp:3']);
    await routing.stop();
    expect([shared, made.get('2'), made.get('3')].map((each) => each?.stopped)).toEqual([1, 1, 1]);
  });

  it('have no provider where WhatsApp is not configured (R552)', () => {
    const none = createRouting([]);
    none.keepNumbers(['2']);
    expect(none.providers(routeOfNumber('2'))).toEqual([]);
    expect(none.health()).toEqual([]);
  });
});
