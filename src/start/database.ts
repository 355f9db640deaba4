import { type Config, ConfigError } from '../config/config.ts';
import { embeddedPostgresOf, requireCluster } from '../config/data-dir.ts';
import type { Logger } from '../domain/ports/logger.ts';
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

/** Runs `work` on the database of DATABASE_URL, or on the embedded PostgreSQL of DATA_DIR, which it starts if needed. */
export async function withDatabase<T>(
  config: Config,
  logger: Logger,
  work: (connection: DatabaseConnection) => Promise<T>,
): Promise<T> {
  const own = databaseOf(config);
  if (own !== undefined) return work(own);
  await requireCluster(config);
  const postgres = await embeddedPostgresOf(config, logger);
  try {
    return await work(postgres.connection);
  } finally {
    await postgres.stop();
  }
}
