import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { auditServer } from 'graphql-http';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql } from '../support/graphql.ts';

describe('GraphQL over HTTP', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway?.stop());

  it('has no error in the audit of graphql-http', async () => {
    const results = await auditServer({ url: `${gateway.url}/graphql`, fetchFn: fetch });
    expect(results.length).toBeGreaterThan(50);
    const errors = results.flatMap((result) =>
      result.status === 'error' ? [`${result.id} ${result.name}: ${result.reason}`] : [],
    );
    expect(errors).toEqual([]);
  });

  it('refuses what comes while so many wait that one client could fill the memory, and takes the next again', async () => {
    const { sessions } = gateway.parts.stores;
    const { promise: found, resolve: find } = Promise.withResolvers<undefined>();
    const finding = jest.spyOn(sessions, 'find').mockReturnValue(found);
    const ask = () => graphql(gateway, '{ viewer { id } }', { token: 'nobody' });
    const body = JSON.stringify({ query: '{ viewer { id } }' });
    const request =
      'POST /graphql HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer nobody\r\n' +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const { hostname, port } = new URL(gateway.url);
    // One after the other on one connection, none of which waits for the answer to the one before.
    const socket = connect(Number(port), hostname);
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk.toString();
    });
    try {
      socket.write(request.repeat(600));
      await eventually(() => finding.mock.calls.length >= 500);
      let isAnswered = false;
      const asked = ask().finally(() => {
        isAnswered = true;
      });
      await eventually(() => isAnswered || finding.mock.calls.length > 500);
      expect(finding.mock.calls).toHaveLength(500);
      const refused = await asked;
      expect([refused.status, codesOf(refused)]).toEqual([503, ['SERVICE_UNAVAILABLE']]);
      expect(refused.headers.get('retry-after')).toBe('1');
      find(undefined);
      await eventually(() => answers.match(/HTTP\/1\.1 /g)?.length === 600);
      expect(answers.match(/HTTP\/1\.1 503 /g)).toHaveLength(100);
    } finally {
      find(undefined);
      socket.destroy();
      finding.mockRestore();
    }
    expect(codesOf(await ask())).toEqual(['UNAUTHENTICATED']);
  });
});
