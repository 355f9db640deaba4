import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigError } from './config.ts';

/**
 * The file is an object of document texts by id, as graphql-codegen and Relay write it. It may also be a manifest of
 * Apollo.
 */
const FILE = z.union([
  z
    .object({ operations: z.array(z.object({ id: z.string(), body: z.string() })) })
    .transform(({ operations }) => new Map(operations.map(({ id, body }) => [id, body]))),
  z.record(z.string(), z.string()).transform((texts) => new Map(Object.entries(texts))),
]);

/**
 * Reads the documents in the file of `GRAPHQL_DOCUMENTS`, by id. Undefined if no file is configured. Throws
 * `ConfigError`.
 */
export function readGraphqlDocuments(path: string | undefined): ReadonlyMap<string, string> | undefined {
  if (path === undefined) return undefined;
  try {
    return FILE.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    const why =
      error instanceof z.ZodError
        ? 'it must hold texts by their id, or operations with an id and a body'
        : String(error instanceof Error ? error.message : error);
    throw new ConfigError(`GRAPHQL_DOCUMENTS cannot be used: ${path}: ${why}.`);
  }
}
