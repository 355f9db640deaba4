import { type Config, ConfigError } from '../config/config.ts';
import { connectionOfUrl, type DatabaseConnection } from '../storage/postgres/connection.ts';

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
