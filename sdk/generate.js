/**
 * Writes the generated files of the SDKs (types, resources and error codes) from schema/openapi.json and
 * sdk/operations.json. `npm run sdk:generate` and `npm run schema` run it. A test fails if the files are out of date.
 */
import { writeFileSync } from 'node:fs';
import { pythonFiles } from './python.js';
import { readTable } from './table.js';
import { typescriptFiles } from './typescript.js';

/** Returns the text of each generated file by its path below sdk/. */
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
