import { mkdir, writeFile } from 'node:fs/promises';
import type { Sessions } from '../domain/accounts/sessions.ts';
import type { Dependencies } from '../domain/dependencies.ts';
import { createOperations } from '../domain/operations.ts';
import { schemaText } from '../graphql/schema.ts';
import { openApiDocument } from '../rest/openapi/document.ts';

/** Replaces all dependencies. Operations made from it never run: only their scopes and roles are read. */
const nothing: unknown = new Proxy(() => undefined, { get: () => nothing, apply: () => nothing });

const FILES: Readonly<Record<string, () => string | Promise<string>>> = {
  'openapi.json': () =>
    `${JSON.stringify(openApiDocument(createOperations(nothing as Dependencies, nothing as Sessions)), null, 2)}\n`,
  'schema.graphql': schemaText,
};

/** Run by `npm run schema`. The files are committed, and tests fail if they differ from what this script writes. */
await mkdir('schema', { recursive: true });
for (const [name, make] of Object.entries(FILES)) {
  await writeFile(`schema/${name}`, await make());
  console.log(`schema/${name}`);
}
