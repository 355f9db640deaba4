import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  type ServerProcess,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';

jest.setTimeout(180_000);

const RECIPIENTS = 40;
/** The largest number of messages in flight that this carrier allows (its window). */
const WINDOW = 5;

describe('a process that was frozen while another took its jobs (R219)', () => {
  let workplace: Workplace;
  let database: TestDatabase;
  let smsc: Smsc;
  const servers: ServerProcess[] = [];
  beforeAll(async () => {
    workplace = await buildWorkplace();
    database = await createTestDatabase();
    smsc = await startSmsc({ answersReversedBy: 1_000 });
  });
  afterAll(async () => {
    for (const server of servers) server.child.kill('SIGCONT');
    await Promise.all(servers.map((server) => server.kill()));
    await smsc?.stop();
    await database?.drop();
    await workplace?.remove();
  });

  const start = async (variables: Record<string, string> = {}) => {
    const server = startServer(workplace, {
      DATA_DIR: await workplace.directory('data'),
      DATABASE_URL: database.url,
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      SMS_ROUTES: `*=${smsc.url}?window=${WINDOW}`,
      LOG_LEVEL: 'warn',
      ...variables,
    });
    servers.push(server);
    return { server, url: await server.ready() };
  };

  it('hands over none of them again: only what was in flight may arrive twice', async () => {
    const { server, url } = await start();
    const { key } = quickstartOf(server.stdout());
    const send = async (to: string, message: string) => {
      const answer = await fetch(`${url}/api/v1/developers/sms`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ to, message }),
      });
      expect(answer.status).toBe(200);
    };
    const numbers = Array.from({ length: RECIPIENTS }, (_, index) => `+2567004000${10 + index}`);
    await send(numbers.join(), 'first');
    await eventually(() => smsc.received.length === WINDOW);
    server.child.kill('SIGSTOP');
    await start({ ROLES: 'worker' });
    // From here on the carrier answers at once. The suspended process does not read its answers yet: they wait in its
    // socket.
    smsc.behave({ answersReversedBy: 1 });
    await eventually(async () => {
      const open = await query(database.connection, `SELECT FROM recipients WHERE status = 'pending'`);
      return open.length === 0;
    });
    expect(smsc.received).toHaveLength(WINDOW + RECIPIENTS);
    server.child.kill('SIGCONT');
    // The process sends this message after all its older work. So when it arrives, no repetition can follow.
    await send('+256700500001', 'last');
    await eventually(() => smsc.messages().some(({ text }) => text === 'last'));
    expect(smsc.messages().filter(({ text }) => text === 'first')).toHaveLength(WINDOW + RECIPIENTS);
  });
});
