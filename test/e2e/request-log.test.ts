import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import {
  buildWorkplace,
  embeddedConnection,
  query,
  quickstartOf,
  type ServerProcess,
  startServer,
  type Workplace,
} from '../support/server-process.ts';

// Time limit of a test in ms. The test starts two processes, which takes long on a busy machine.
jest.setTimeout(180_000);

let workplace: Workplace;
const servers: ServerProcess[] = [];
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.kill()));
});
afterAll(() => workplace.remove());

describe('the request log and kill -9', () => {
  it('loses only the newest requests, those after the last write, and goes on afterwards (R415)', async () => {
    const dataDir = await workplace.directory('request-log');
    const start = async () => {
      const server = startServer(workplace, {
        DATA_DIR: dataDir,
        LOG_LEVEL: 'error',
        RATE_LIMIT_PER_MINUTE: '1000000',
      });
      servers.push(server);
      return { server, url: await server.ready() };
    };
    const first = await start();
    const { key } = quickstartOf(first.server.stdout());
    const logged = async () => {
      // A process that starts again also starts its database, at another address.
      const connection = await embeddedConnection(dataDir);
      const rows = await query<{ id: string }>(
        connection,
        `SELECT request_id AS id FROM api_requests WHERE request_id LIKE 'kill-%'`,
      );
      return new Set(rows.map(({ id }) => id));
    };
    const answered: string[] = [];
    const ask = async (url: string) => {
      const id = `kill-${answered.length}`;
      const answer = await fetch(`${url}/api/v1/account`, {
        headers: { 'X-Api-Key': key, 'X-Request-Id': id },
      });
      expect(answer.status).toBe(200);
      answered.push(id);
    };
    // Three writes of the log are seen. Each has all requests that were answered before the write before it.
    for (let writes = 0; writes < 3; writes += 1) {
      const before = (await logged()).size;
      await eventually(async () => {
        await ask(first.url);
        return (await logged()).size > before;
      });
    }
    for (const _ of [1, 2, 3]) await ask(first.url);
    await first.server.kill();

    // The database of the killed process ended with it.
    const second = await start();
    const kept = await logged();
    const missing = answered.filter((id) => !kept.has(id));
    // What is missing is one run at the end. Nothing in the middle is lost.
    expect(missing).toEqual(missing.length === 0 ? [] : answered.slice(-missing.length));
    expect(kept.size).toBeGreaterThanOrEqual(3);

    await ask(second.url);
    await eventually(async () => (await logged()).has(answered.at(-1)!));
    expect((await logged()).size).toBe(kept.size + 1);
  });
});
