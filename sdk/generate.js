/**
 * Writes the generated parts of the SDKs (types, resources and codes) from schema/openapi.json and sdk/operations.json.
 * `npm run sdk:generate` runs it, `npm run schema` too; a test fails if the files are not current.
 */
import { writeFileSync } from 'node:fs';
import { pythonFiles } from './python.js';
import { readTable } from './table.js';
import { typescriptFiles } from './typescript.js';

/** The generated files, text by path. */
export async function generatedFiles() {
  const table = readTable();
  return new Map([...(await typescriptFiles(table)), ...pythonFiles(table)]);
}

if (import.meta.filename === process.argv[1]) {
  for (const [path, text] of await generatedFiles()) {
    writeFileSync(new URL(path, import.meta.url), text);
    console.log(`sdk/${path}`);
  }
}
