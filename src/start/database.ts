import { type Config, ConfigError } from '../config/config.ts';
import { connectionOfUrl, type DatabaseConnection } from '../storage/postgres/connection.ts';
import { DatabaseServers } from '../storage/postgres/database-servers.ts';

/**
 * Returns the database of DATABASE_URL, or undefined if none is configured. Throws `ConfigError` if the URL is wrong.
 */
export function databaseOf({ databaseUrl }: Config): DatabaseConnection | undefined {
  try {
    return databaseUrl === undefined ? undefined : connectionOfUrl(databaseUrl);
  } catch (error) {
    throw new ConfigError(`DATABASE_URL cannot be used: ${error instanceof Error ? error.message : error}.`);
  }
}

/** Returns the replica of DATABASE_READ_URL, or undefined if none is configured. Throws `ConfigError` like `databaseOf`. */
export function replicaOf({ databaseReadUrl }: Config): DatabaseConnection | undefined {
  if (databaseReadUrl === undefined) return undefined;
  try {
    const connection = connectionOfUrl(databaseReadUrl);
    if (connection instanceof DatabaseServers)
      throw new Error('it must name one host: for several replicas, the address of a proxy before them');
    return connection;
  } catch (error) {
    throw new ConfigError(
      `DATABASE_READ_URL cannot be used: ${error instanceof Error ? error.message : error}.`,
    );
  }
}
