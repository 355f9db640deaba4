import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { databaseFault, isUnreachable, mayPassAlone } from '../../src/storage/postgres/faults.ts';

const failed = (code: string) => Object.assign(new Error('failed'), { code });

describe('a database error (R3)', () => {
  it.each<[string, string, { unavailable: boolean; unreachable: boolean; mayPassAlone: boolean }]>([
    ['a refused connection', 'ECONNREFUSED', { unavailable: true, unreachable: true, mayPassAlone: false }],
    ['a server that shuts down', '57P01', { unavailable: true, unreachable: true, mayPassAlone: false }],
    ['too many connections', '53300', { unavailable: true, unreachable: true, mayPassAlone: false }],
    ['a statement timeout', '57014', { unavailable: true, unreachable: false, mayPassAlone: false }],
    ['a lock timeout', '55P03', { unavailable: true, unreachable: false, mayPassAlone: false }],
    ['a transaction timeout', '25P04', { unavailable: true, unreachable: false, mayPassAlone: false }],
    ['a deadlock', '40P01', { unavailable: true, unreachable: false, mayPassAlone: true }],
    ['a serialization failure', '40001', { unavailable: true, unreachable: false, mayPassAlone: true }],
    [
      'a statement in a failed transaction',
      '25P02',
      { unavailable: false, unreachable: false, mayPassAlone: true },
    ],
    ['a broken constraint', '23505', { unavailable: false, unreachable: false, mayPassAlone: true }],
  ])('%s (%s)', (_what, code, expected) => {
    const error = failed(code);
    expect({
      unavailable: databaseFault(error)?.code === 'service_unavailable',
      unreachable: isUnreachable(error),
      mayPassAlone: mayPassAlone(error),
    }).toEqual(expected);
  });

  it.each(['', 'select "id" from "accounts" where "id" = $1 - '])(
    'means a lost connection, whatever text Knex puts before the driver\'s: "%s"',
    (before) => {
      const error = new Error(`${before}Connection terminated unexpectedly`);
      expect([isUnreachable(error), mayPassAlone(error)]).toEqual([true, false]);
      expect(databaseFault(error)?.code).toBe('service_unavailable');
    },
  );

  it('does not mean a lost connection when PostgreSQL only quotes such text', () => {
    const quoted = new Error('select 1 - invalid input syntax: "x - Connection terminated"');
    expect(isUnreachable(Object.assign(quoted, { code: '22P02' }))).toBe(false);
  });

  it('means an unreachable database for every error of connect, but not for a missing file', async () => {
    const client = new pg.Client({ host: '255.255.255.255' });
    client.on('error', () => undefined);
    const refused = await client.connect().catch((error: unknown) => error);
    expect(refused).toMatchObject({ syscall: 'connect' });
    const full = Object.assign(new Error('connect EAGAIN'), { code: 'EAGAIN', syscall: 'connect' });
    const gone = Object.assign(failed('ENOENT'), { syscall: 'connect' });
    const missing = Object.assign(failed('ENOENT'), { syscall: 'open' });
    expect([refused, full, gone, missing].map(isUnreachable)).toEqual([true, true, true, false]);
  });
});
