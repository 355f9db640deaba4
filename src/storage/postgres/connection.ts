import pg from 'pg';
import { DatabaseServers } from './database-servers.ts';

/**
 * A connection string, its parts, or several servers of which one is the primary. `host` may be the directory of a
 * socket.
 */
export type DatabaseConnection =
  | string
  | { host: string; port: number; user: string; database: string; password?: string }
  | DatabaseServers;

/**
 * Returns the driver's configuration for the server that takes writes. If there are several servers, it searches for
 * the primary first, and rejects if there is none.
 */
export async function configOf(connection: DatabaseConnection): Promise<pg.ClientConfig> {
  if (connection instanceof DatabaseServers) return connection.primary();
  return typeof connection === 'string' ? { connectionString: connection } : connection;
}

/** Splits a connection string into three parts: before the hosts, the hosts, and the rest. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s;
/** Values of `target_session_attrs` that ask for a server that takes writes. */
const WRITABLE: readonly string[] = ['read-write', 'primary'];

/**
 * Returns the connection that a DATABASE_URL names. Several hosts are separated by commas, as for libpq:
 * `postgres://user@a:5432,b:5432/database?target_session_attrs=read-write`. Throws an Error that says what is wrong.
 * The error does not contain the password. Does not connect.
 */
export function connectionOfUrl(url: string): DatabaseConnection {
  const [, start = '', hosts = '', rest = ''] = PARTS.exec(url) ?? [];
  if (!hosts.includes(',')) {
    checkUrl(url);
    return url;
  }
  const names = hosts.split(',');
  if (names.includes('')) throw new Error('it has a comma without a host beside it');
  const servers = names.map((name) => {
    const connectionString = `${start}${name}${rest}`;
    checkUrl(connectionString);
    return { name: decodeURIComponent(name), config: { connectionString } };
  });
  const wanted = new URLSearchParams(rest.split('?')[1]).get('target_session_attrs') ?? 'primary';
  if (!WRITABLE.includes(wanted))
    throw new Error(`its target_session_attrs must be ${WRITABLE.join(' or ')}, because the gateway writes`);
  return new DatabaseServers(servers);
}

function checkUrl(url: string): void {
  let port: number;
  try {
    ({ port } = new pg.Client({ connectionString: url }));
  } catch (cause) {
    // An error of a system call means that a certificate file named in the URL cannot be read. Pass it on, because it
    // names the file.
    if ((cause as NodeJS.ErrnoException).syscall !== undefined) throw cause;
    throw new Error(
      'it must be an address such as postgres://user:password@host:5432/database, with % and two hex digits for ' +
        'what an address cannot hold, such as %23 for #',
      { cause },
    );
  }
  if (!(port >= 0 && port <= 65_535)) throw new Error('its port must be a whole number from 0 to 65535');
}
