import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient } from 'graphql-sse';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { codesOf, signIn, signInOperator } from '../support/graphql.ts';
import { askStream, type LiveEvent } from '../support/live.ts';

const UPDATES = `subscription { providerHealthUpdates {
  __typename ... on ProviderHealth { name channel state submitted process seenAt } ... on Refetch { reason } } }`;
const SMS_ROUTES = '256=simulator:,*=smpp://shop:pa55word@127.0.0.1:1';

describe('provider health as it changes (R391)', () => {
  let api: TestGateway;
  beforeAll(async () => {
    api = await startTestGateway({ ROLES: 'api', SMS_ROUTES });
  });
  afterAll(() => api?.stop());

  /** Subscribes with the client of graphql-sse. Returns the events so far. */
  const watch = (token: string, singleConnection: boolean) => {
    const headers = { Authorization: `Bearer ${token}` };
    const url = `${api.url}/graphql/stream`;
    const client = createClient(
      singleConnection
        ? { url, headers, singleConnection, retryAttempts: 0 }
        : { url, headers, retryAttempts: 0 },
    );
    const events: LiveEvent[] = [];
    const ends: unknown[] = [];
    client.subscribe(
      { query: UPDATES },
      {
        next: (event) => void events.push(event as LiveEvent),
        error: (error) => void ends.push(error),
        complete: () => undefined,
      },
    );
    return {
      ends,
      stop: () => client.dispose(),
      shown: () => events.map(({ data }) => data?.providerHealthUpdates),
    };
  };

  it('comes from each worker process, in both modes of graphql-sse, until the process stops', async () => {
    const token = await signInOperator(api);
    const watches = [watch(token, false), watch(token, true)];
    const worker = await startTestGateway({ ROLES: 'worker', SMS_ROUTES }, api.database);
    const { key } = await api.createAccount();
    let sent = 0;
    await eventually(async () => {
      await api.call('POST', '/developers/sms', { key, body: { to: '+256700123456', message: 'Hello' } });
      sent += 1;
      return watches.every(({ shown }) =>
        shown().some((report) => report.name === 'simulator' && report.submitted > 0),
      );
    }, 60_000);
    for (const { shown } of watches) {
      const report = shown().findLast(({ name }) => name === 'simulator');
      expect(report).toEqual({
        __typename: 'ProviderHealth',
        name: 'simulator',
        channel: 'SMS',
        state: 'UP',
        submitted: expect.any(Number),
        process: expect.stringMatching(/:\d+$/),
        seenAt: expect.any(String),
      });
      expect(report.submitted).toBeLessThanOrEqual(sent);
      expect(JSON.stringify(shown())).not.toContain('pa55word');
    }
    await worker.stop();
    await eventually(() => watches.every(({ shown }) => shown().at(-1).__typename === 'Refetch'), 30_000);
    for (const { stop, ends } of watches) {
      expect(ends).toEqual([]);
      stop();
    }
  });

  it('is for operators only', async () => {
    const token = await signIn(api, await api.createAccount());
    expect(codesOf(await askStream(api, UPDATES, { token }))).toEqual(['FORBIDDEN']);
    expect(codesOf(await askStream(api, UPDATES))).toEqual(['UNAUTHENTICATED']);
  });
});
