/**
 * Tests what every provider of every channel must do (docs/providers.md). Each provider is tested against a peer that
 * speaks its protocol.
 */
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { DeliveryReport, Provider, Submission } from '../../src/domain/ports/provider.ts';
import { eventually } from './eventually.ts';

/**
 * How the peer treats the next submissions. `silent`: it accepts them and never answers. `down`: it cannot be reached,
 * or closes every connection.
 */
export type Treatment = 'accept' | 'reject' | 'throttle' | 'silent' | 'down';

/** A provider and its peer. The provider has short timeouts, to keep the tests fast. */
export interface ProviderBench<S extends Submission> {
  readonly provider: Provider<S>;
  /** The content of this provider's submissions. The provider accepts the recipient `to`. */
  readonly content: Omit<S, 'messageId' | 'position' | 'attempt' | 'expiresAt' | 'from'> & {
    readonly from?: string;
  };
  /**
   * Sets how the peer treats the next submissions. Returns the members that a submission must have for this treatment.
   */
  arrange(treatment: Treatment): Partial<S> | undefined | Promise<Partial<S> | undefined>;
  /** Number of submissions that reached the peer, including refused ones. */
  reached(): number;
  /** Number of open connections at the peer. */
  connections(): number;
  /** Makes the peer report this sid as delivered. Undefined if the peer sends no delivery reports. */
  reportDelivered?(sid: string): void | Promise<void>;
  /** Stops the peer. */
  stop(): Promise<void>;
}

export interface Conformance {
  /** The treatments that this peer supports. Default: all. */
  readonly treatments?: readonly Treatment[];
  /** True if the peer gives the same sid to the same submission that is sent twice. So it recognizes a repetition. */
  readonly isRepeatKnown?: boolean;
  /** True if the peer sends delivery reports. */
  readonly reports?: boolean;
  /** True if submissions may wait, and people may be suppressed meanwhile: push knows no suppressions. */
  readonly asksBeforeLeaving?: boolean;
}

const ALL: readonly Treatment[] = ['accept', 'reject', 'throttle', 'silent', 'down'];

/** Declares the tests for one provider. `start` creates the peer, and a provider that is not started yet. */
export function describeProvider<S extends Submission>(
  name: string,
  start: () => Promise<ProviderBench<S>>,
  {
    treatments = ALL,
    isRepeatKnown = false,
    reports: doesReport = false,
    asksBeforeLeaving = false,
  }: Conformance = {},
): void {
  describe(`${name} does what every provider must`, () => {
    const ignoreInbound = async () => {};
    const opened: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const close of opened.splice(0).reverse()) await close();
    });
    const signal = new AbortController().signal;
    const whenTreated = (treatment: Treatment) => (treatments.includes(treatment) ? it : it.skip);

    async function open() {
      const bench = await start();
      opened.push(
        () => bench.stop(),
        () => bench.provider.stop(),
      );
      const reports: { provider: string; report: DeliveryReport }[] = [];
      bench.provider.start(async (provider, taken) => {
        reports.push(...taken.map((report) => ({ provider, report })));
      }, ignoreInbound);
      const submission = (members: Partial<S> | undefined = {}): S =>
        ({
          from: 'ACME',
          ...bench.content,
          messageId: randomUUID(),
          position: 0,
          attempt: 0,
          expiresAt: new Date(Date.now() + 3_600_000),
          ...members,
        }) as unknown as S;
      return {
        ...bench,
        reports,
        submission,
        submitTreated: async (treatment: Treatment) =>
          bench.provider.submit(submission(await bench.arrange(treatment)), signal),
      };
    }

    it('accepts: each submission has a sid of its own, and the health is up', async () => {
      const { provider, submitTreated } = await open();
      const first = await submitTreated('accept');
      const second = await submitTreated('accept');
      expect(first).toMatchObject({ kind: 'accepted', sid: expect.stringMatching(/./) });
      expect(second).toMatchObject({ kind: 'accepted' });
      expect(first).not.toEqual(second);
      expect(provider.health()).toMatchObject({ name: provider.name, state: 'up', inFlight: 0 });
    });

    whenTreated('reject')('rejects what the peer refuses for good, with its code and words', async () => {
      const { submitTreated } = await open();
      expect(await submitTreated('reject')).toEqual({
        kind: 'rejected',
        asked: true,
        code: expect.stringMatching(/./),
        reason: expect.stringMatching(/./),
      });
    });

    whenTreated('throttle')(
      'puts off what the peer cannot take now, and nothing of it has left',
      async () => {
        const { submitTreated } = await open();
        const outcome = await submitTreated('throttle');
        expect(outcome).toMatchObject({
          kind: 'unavailable',
          reason: expect.stringMatching(/./),
          definitelyNotSent: true,
        });
        expect(await submitTreated('accept')).toMatchObject({ kind: 'accepted' });
      },
    );

    const whenAsking = asksBeforeLeaving ? it : it.skip;
    whenAsking(
      'sends nothing to a person who may no longer get it when the wait is over (R557)',
      async () => {
        const { provider, submission, arrange, reached } = await open();
        const members = await arrange('accept');
        // The first one shows that the provider is connected.
        expect(await provider.submit(submission(members), signal)).toMatchObject({ kind: 'accepted' });
        const before = reached();
        for (const allowed of [[], undefined]) {
          const asked: (readonly string[])[] = [];
          const stillAllowed = async (addresses: readonly string[]) => {
            asked.push(addresses);
            return allowed;
          };
          const one = submission({ ...members, stillAllowed } as Partial<S>);
          expect(await provider.submit(one, signal)).toMatchObject({
            kind: 'unavailable',
            definitelyNotSent: true,
          });
          expect(asked).toEqual([[one.to]]);
        }
        expect(provider.health()).toMatchObject({ state: 'up', inFlight: 0 });
        expect(reached()).toBe(before);
        const stillAllowed = async (addresses: readonly string[]) => addresses;
        const last = submission({ ...members, stillAllowed } as Partial<S>);
        expect(await provider.submit(last, signal)).toMatchObject({ kind: 'accepted' });
      },
    );

    whenTreated('silent')('gives up on a silent peer, and does not claim that nothing has left', async () => {
      const { provider, submitTreated } = await open();
      const outcome = await submitTreated('silent');
      expect(outcome).toMatchObject({ kind: 'unavailable', reason: expect.stringMatching(/./) });
      expect(outcome).not.toHaveProperty('definitelyNotSent');
      expect(provider.health().inFlight).toBe(0);
    });

    whenTreated('down')(
      'is unavailable while the peer is down, and works again once it is back',
      async () => {
        const { submitTreated } = await open();
        expect(await submitTreated('down')).toMatchObject({ kind: 'unavailable' });
        await eventually(async () => (await submitTreated('accept')).kind === 'accepted');
      },
    );

    it('hands a repeat over like any other, under the same sid where the peer can tell it', async () => {
      const { provider, submission, arrange } = await open();
      const once = submission(await arrange('accept'));
      const first = await provider.submit(once, signal);
      const again = await provider.submit({ ...once, attempt: 1 }, signal);
      expect([first.kind, again.kind]).toEqual(['accepted', 'accepted']);
      if (isRepeatKnown) expect(again).toEqual(first);
    });

    (doesReport ? it : it.skip)('tells what the peer reports, under its own name and the sid', async () => {
      const { provider, submitTreated, reports, reportDelivered } = await open();
      const outcome = await submitTreated('accept');
      if (!reportDelivered || outcome.kind !== 'accepted') throw new Error('the bench cannot report');
      await reportDelivered(outcome.sid);
      const told = await eventually(() => reports.find(({ report }) => report.sid === outcome.sid));
      expect(told).toMatchObject({ provider: provider.name, report: { status: 'delivered' } });
    });

    it('hands nothing over once the signal is aborted', async () => {
      const { provider, submission, arrange, reached } = await open();
      const members = await arrange('accept');
      const before = reached();
      const outcome = await provider.submit(submission(members), AbortSignal.abort());
      expect(outcome).toMatchObject({ kind: 'unavailable', definitelyNotSent: true });
      expect(reached()).toBe(before);
    });

    it('stops: what is under way ends, nothing more is taken, no connection stays open', async () => {
      const { provider, submission, arrange, connections, reached } = await open();
      const members = await arrange('accept');
      await provider.submit(submission(members), signal);
      const underWay = provider.submit(submission(members), signal);
      await provider.stop();
      expect(['accepted', 'unavailable']).toContain((await underWay).kind);
      const before = reached();
      expect(await provider.submit(submission(members), signal)).toMatchObject({ kind: 'unavailable' });
      expect(reached()).toBe(before);
      await eventually(() => connections() === 0);
      await provider.stop();
    });

    it('has a name that is the same each time and holds no secret', async () => {
      const [one, other] = [await open(), await open()];
      const withoutPort = (text: string) => text.replace(/:\d+/g, '');
      expect(withoutPort(one.provider.name)).toBe(withoutPort(other.provider.name));
      expect(one.provider.name).not.toMatch(/secret/i);
    });
  });
}
