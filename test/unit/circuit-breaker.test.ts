import { describe, expect, it } from '@jest/globals';
import { CircuitBreaker } from '../../src/channels/circuit-breaker.ts';
import type { Provider, ProviderOutcome, Submission } from '../../src/domain/ports/provider.ts';

const DEAD: ProviderOutcome = { kind: 'unavailable', asked: true, reason: 'no answer' };
const ACCEPTED: ProviderOutcome = { kind: 'accepted', sid: '1' };
const REJECTED: ProviderOutcome = { kind: 'rejected', asked: true, code: 'NO', reason: 'no' };
const never = new AbortController().signal;

const submission: Submission = {
  messageId: 'm',
  position: 0,
  to: '+256700123456',
  from: 'ACME',
  attempt: 0,
  expiresAt: new Date(8.64e15),
};

/** A provider whose answers a test sets, with a circuit breaker and its clock. */
function bench(options: { failures?: number } = {}) {
  const answers: (ProviderOutcome | Promise<ProviderOutcome>)[] = [];
  let asked = 0;
  let nowMs = 1_000;
  const provider: Provider<Submission> = {
    name: 'carrier',
    start: () => undefined,
    async submit() {
      asked += 1;
      return answers.shift() ?? DEAD;
    },
    stop: async () => undefined,
    health: () => ({ name: 'carrier', state: 'up', inFlight: 0 }),
  };
  const breaker = new CircuitBreaker(provider, {
    failures: 3,
    restMs: 1_000,
    longestRestMs: 3_000,
    now: () => nowMs,
    ...options,
  });
  return {
    breaker,
    answers,
    asked: () => asked,
    pass: (ms: number) => {
      nowMs += ms;
    },
    submit: (signal = never) => breaker.submit(submission, signal),
    async submitTimes(times: number) {
      for (let time = 0; time < times; time++) await breaker.submit(submission, never);
    },
  };
}

describe('circuit breaker', () => {
  it('passes results through while the provider works', async () => {
    const { submit, answers, breaker } = bench();
    answers.push(ACCEPTED, REJECTED, DEAD, ACCEPTED);
    expect(await submit()).toEqual(ACCEPTED);
    expect(await submit()).toEqual(REJECTED);
    expect(await submit()).toEqual(DEAD);
    expect(await submit()).toEqual(ACCEPTED);
    expect(breaker.health()).toEqual({ name: 'carrier', state: 'up', inFlight: 0 });
  });

  it('opens after consecutive failures, and then fails at once with the time to retry', async () => {
    const { submit, submitTimes, asked, pass, breaker } = bench();
    await submitTimes(3);
    pass(400);
    const answer = await submit();
    expect(asked()).toBe(3);
    expect(answer).toMatchObject({
      kind: 'unavailable',
      asked: false,
      retryAfterMs: 600,
      definitelyNotSent: true,
    });
    expect(breaker.health()).toMatchObject({
      state: 'down',
      detail: 'resting after 3 failures in a row: no answer',
    });
  });

  it('any answer in between, also a refusal, restarts the count', async () => {
    const { submitTimes, answers, asked } = bench();
    answers.push(DEAD, DEAD, REJECTED, DEAD, DEAD, ACCEPTED, DEAD, DEAD);
    await submitTimes(8);
    await submitTimes(1);
    expect(asked()).toBe(9);
  });

  it.each<[string, ProviderOutcome]>([
    ['puts off one recipient only', { ...DEAD, onlyThis: true }],
    ['says itself when to come back', { ...DEAD, retryAfterMs: 50 }],
  ])('does not open when the provider %s', async (_name, answer) => {
    const { submitTimes, answers, asked } = bench();
    answers.push(...Array(10).fill(answer));
    await submitTimes(10);
    expect(asked()).toBe(10);
  });

  const UNASKED: ProviderOutcome = { ...DEAD, asked: false, onlyThis: true };

  it('neither opens nor starts anew because of submissions about which the provider was not asked', async () => {
    const { submitTimes, answers, asked } = bench();
    answers.push(...Array(10).fill(UNASKED), DEAD, DEAD, UNASKED, DEAD);
    await submitTimes(14);
    expect(asked()).toBe(14);
    await submitTimes(1);
    expect(asked()).toBe(14);
  });

  it('stays open when nobody asked the provider about the probe, and the next one is the probe', async () => {
    const { submit, submitTimes, answers, asked, pass, breaker } = bench();
    await submitTimes(3);
    pass(1_000);
    answers.push(UNASKED, DEAD, ACCEPTED);
    await submit();
    expect(breaker.health().state).toBe('down');
    await submit();
    expect(asked()).toBe(5);
    await submit();
    expect(asked()).toBe(5);
    pass(2_000);
    expect(await submit()).toEqual(ACCEPTED);
    expect(breaker.health().state).toBe('up');
  });

  it.each<[string, ProviderOutcome]>([
    ['refuses the submission itself', { ...REJECTED, asked: false }],
    ['fails by a fault of its own', { ...DEAD, asked: false }],
  ])('neither opens nor closes when the gateway %s (R588)', async (_what, own) => {
    const { submitTimes, answers, asked, pass, breaker } = bench();
    // The two failures before count on, as if the gateway had decided nothing between.
    answers.push(DEAD, DEAD, own, own, own, own, DEAD);
    await submitTimes(7);
    expect(breaker.health().state).toBe('down');
    pass(1_000);
    answers.push(own, own, ACCEPTED);
    await submitTimes(2);
    expect([asked(), breaker.health().state]).toEqual([9, 'down']);
    await submitTimes(1);
    expect([asked(), breaker.health().state]).toEqual([10, 'up']);
  });

  it('keeps the rest that a failed probe began when another probe ends without having asked', async () => {
    const { submit, submitTimes, answers, asked, pass } = bench();
    await submitTimes(3);
    pass(1_000);
    const [first, second] = [
      Promise.withResolvers<ProviderOutcome>(),
      Promise.withResolvers<ProviderOutcome>(),
    ];
    answers.push(first.promise, second.promise);
    const one = submit();
    pass(1_000);
    const two = submit();
    first.resolve(DEAD);
    await one;
    second.resolve(UNASKED);
    await two;
    await submit();
    expect(asked()).toBe(5);
  });

  it('does not count attempts that the shutdown ended', async () => {
    const { submit, submitTimes, asked } = bench();
    const aborted = AbortSignal.abort();
    for (let time = 0; time < 5; time++) await submit(aborted);
    await submitTimes(1);
    expect(asked()).toBe(6);
  });

  it('lets exactly one probe through after the pause', async () => {
    const { submit, submitTimes, answers, asked, pass, breaker } = bench();
    await submitTimes(3);
    pass(1_000);
    let answerProbe: (outcome: ProviderOutcome) => void = () => undefined;
    answers.push(
      new Promise((resolve) => {
        answerProbe = resolve;
      }),
    );
    const probe = submit();
    expect(await submit()).toMatchObject({ kind: 'unavailable', asked: false, definitelyNotSent: true });
    expect(asked()).toBe(4);
    answerProbe(ACCEPTED);
    expect(await probe).toEqual(ACCEPTED);
    answers.push(ACCEPTED, ACCEPTED);
    await submitTimes(2);
    expect(asked()).toBe(6);
    expect(breaker.health().state).toBe('up');
  });

  it('lets a second probe through when the first takes longer than the pause, because the first may never end', async () => {
    const { submit, submitTimes, answers, asked, pass, breaker } = bench();
    await submitTimes(3);
    pass(1_000);
    answers.push(new Promise(() => undefined), ACCEPTED, ACCEPTED);
    void submit();
    pass(999);
    expect(await submit()).toMatchObject({
      kind: 'unavailable',
      asked: false,
      retryAfterMs: 1,
      definitelyNotSent: true,
    });
    pass(1);
    expect(await submit()).toEqual(ACCEPTED);
    expect(await submit()).toEqual(ACCEPTED);
    expect(asked()).toBe(6);
    expect(breaker.health().state).toBe('up');
  });

  it('doubles the pause after each failed probe, up to the longest pause', async () => {
    const { submit, submitTimes, asked, pass } = bench();
    await submitTimes(3);
    for (const [probe, restMs] of [2_000, 3_000, 3_000].entries()) {
      pass(probe === 0 ? 1_000 : ([2_000, 3_000][probe - 1] ?? 0));
      await submit();
      expect(asked()).toBe(4 + probe);
      expect(await submit()).toMatchObject({ retryAfterMs: restMs });
    }
  });

  it('failures of attempts that began before it opened do not lengthen the pause', async () => {
    const { submit, breaker, pass } = bench();
    await Promise.all(Array.from({ length: 10 }, () => submit()));
    pass(999);
    expect(await submit()).toMatchObject({ retryAfterMs: 1 });
    expect(breaker.health().detail).toContain('10 failures');
  });
});
