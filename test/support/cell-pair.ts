/** Two cells in the test's process, and the move of an account between them. */
import pg from 'pg';
import { accountJobs } from '../../src/queue/account-jobs.ts';
import { type MoveOptions, moveAccount } from '../../src/storage/cells/account-move.ts';
import { startTestGateway, type TestGateway } from './gateway.ts';

export interface CellPair extends AsyncDisposable {
  readonly a: TestGateway;
  readonly b: TestGateway;
  move(
    accountId: string,
    direction: 'a to b' | 'b to a',
    options?: Partial<Pick<MoveOptions, 'onStep' | 'redirect' | 'drainMs'>>,
  ): ReturnType<typeof moveAccount>;
  /** Ends the connections of a mover at once, as when its process is killed. */
  killMover(): Promise<void>;
}

export async function startCellPair(environment: Record<string, string> = {}): Promise<CellPair> {
  const a = await startTestGateway({ CELL_SLOTS: '000-7ff', ...environment });
  const b = await startTestGateway({ CELL_SLOTS: '800-fff', ...environment });
  return {
    a,
    b,
    move(accountId, direction, options = {}) {
      const [from, to] = direction === 'a to b' ? [a, b] : [b, a];
      return moveAccount({
        accountId,
        from: from.database.connection,
        to: to.database.connection,
        toCell: undefined,
        toDatabaseSealed: from.parts.secrets.seal(to.database.url),
        jobs: accountJobs,
        drainMs: 20_000,
        redirect: async () => undefined,
        settleMs: 0,
        ...options,
      });
    },
    async killMover() {
      const client = new pg.Client({ ...a.database.connection });
      await client.connect();
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name LIKE 'messaging-gateway-move%' AND datname = ANY ($1)`,
        [[a.database.connection.database, b.database.connection.database]],
      );
      await client.end();
    },
    async [Symbol.asyncDispose]() {
      await a.stop();
      await b.stop();
    },
  };
}
