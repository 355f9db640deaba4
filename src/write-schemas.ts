import { mkdir, writeFile } from 'node:fs/promises';
import type { Sessions } from './domain/accounts/sessions.ts';
import type { Dependencies } from './domain/dependencies.ts';
import { createOperations } from './domain/operations.ts';
import { schemaText } from './graphql/schema.ts';
import { openApiDocument } from './rest/openapi.ts';

/** Answers everything with itself: operations are made of it to read their access, and never run. */
const nothing: unknown = new Proxy(() => undefined, { get: () => nothing, apply: () => nothing });

const FILES: Readonly<Record<string, () => string | Promise<string>>> = {
  'openapi.json': () =>
    `${JSON.stringify(openApiDocument(createOperations(nothing as Dependencies, nothing as Sessions)), null, 2)}\n`,
  'schema.graphql': schemaText,
};

/** Writes the generated files of schema/, which are committed and held by tests (`npm run schema`). */
await mkdir('schema', { recursive: true });
for (const [name, make] of Object.entries(FILES)) {
  await writeFile(`schema/${name}`, await make());
  console.log(`schema/${name}`);
}
