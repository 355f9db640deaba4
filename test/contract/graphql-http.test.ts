import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { auditServer } from 'graphql-http';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

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
});
