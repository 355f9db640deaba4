/**
 * Generates types for the console's GraphQL. Beside each `x.graphql` of src/console it makes an `x.generated.ts`. That
 * file has the types of variables and results, taken from schema/schema.graphql, and the text of each operation with
 * the fragments that it uses. Queries are in parts, because the console joins several of them into one document: each
 * variable and each root field has the name of its query before it. `npm run console-types` writes the files. A test
 * fails if they differ from what this script would write.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { codegen } from '@graphql-codegen/core';
import * as operations from '@graphql-codegen/typescript-operations';
import {
  buildASTSchema,
  Kind,
  Lexer,
  parse,
  print,
  Source,
  separateOperations,
  stripIgnoredCharacters,
  TokenKind,
  validate,
  visit,
} from 'graphql';

const ROOT = 'src/console';
const HASHES = 'src/graphql/console-documents.generated.ts';
const KINDS = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' };
const CONFIG = {
  immutableTypes: true,
  skipTypename: true,
  scalars: {
    ID: 'string',
    DateTime: 'string',
    Currency: 'string',
    Decimal: 'string',
    BigInt: 'string',
    JSONObject: 'Readonly<Record<string, unknown>>',
  },
};

/**
 * Makes the generated files: a map from path to text. Throws if a document does not fit the schema. The error names the
 * file and the fault.
 */
export async function consoleTypes() {
  const schemaNode = parse(readFileSync('schema/schema.graphql', 'utf8'));
  const schema = buildASTSchema(schemaNode);
  const files = new Map();
  const hashes = [];
  const fragments = new Map();
  const paths = readdirSync(ROOT, { recursive: true }).filter((name) => name.endsWith('.graphql'));
  for (const path of paths.map((name) => `${ROOT}/${name}`).sort()) {
    const document = parse(readFileSync(path, 'utf8'));
    const [fault] = validate(schema, document);
    if (fault) throw new Error(`${path}: ${fault.message}`);
    const types = await codegen({
      filename: path,
      schema: schemaNode,
      documents: [{ location: path, document }],
      plugins: [{ operations: {} }],
      pluginMap: { operations },
      config: CONFIG,
    });
    files.set(path.replace(/\.graphql$/, '.generated.ts'), fileText(path, document, types));
    for (const separate of Object.values(separateOperations(document))) hashes.push(hashOf(separate));
    for (const { kind, name } of document.definitions) {
      if (kind !== Kind.FRAGMENT_DEFINITION) continue;
      const other = fragments.get(name.value);
      if (other) throw new Error(`${path}: ${other} has a fragment ${name.value} too`);
      fragments.set(name.value, path);
    }
  }
  files.set(HASHES, hashesText(hashes.sort()));
  return files;
}

/** Returns the text of an operation exactly as the console sends it, if it is joined with no other. */
function sentText(separate) {
  const operation = operationOf(separate);
  if (operation.operation !== 'query') return textOf(separate);
  const { variables, fields, fragments } = partsOf(separate);
  const name = operation.name.value;
  return `query ${name}${variables && `(${variables})`}{${fields}}${Object.values(fragments).join('')}`;
}

const operationOf = ({ definitions }) => definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
const textOf = (node) => stripIgnoredCharacters(print(node));

/** Returns the parts of a query's document, with the name of the query before each variable and each root field. */
function partsOf(separate) {
  const own = operationOf(separate);
  const prefix = `${own.name.value}_`;
  const named = (node) => ({ ...node, value: prefix + node.value });
  const { variableDefinitions, selectionSet } = visit(own, {
    Variable: (node) => ({ ...node, name: named(node.name) }),
  });
  const fields = selectionSet.selections.map((node) => {
    if (node.kind !== Kind.FIELD) throw new Error(`${own.name.value} has a fragment instead of a root field`);
    return { ...node, alias: named(node.alias ?? node.name) };
  });
  const fragments = separate.definitions.filter((node) => node !== own);
  visit(
    { kind: Kind.DOCUMENT, definitions: fragments },
    {
      Variable() {
        throw new Error(`${own.name.value} has a fragment with a variable`);
      },
    },
  );
  return {
    variables: variableDefinitions.map(textOf).join(''),
    fields: textOf({ kind: Kind.SELECTION_SET, selections: fields }).slice(1, -1),
    fragments: Object.fromEntries(
      fragments
        .map((node) => [node.name.value, textOf(node)])
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
  };
}

/** Returns how many tokens and aliases of the server's limits a document takes. */
function sizeOf(text) {
  const lexer = new Lexer(new Source(text));
  let tokens = 0;
  while (lexer.advance().kind !== TokenKind.EOF) tokens += 1;
  let aliases = 0;
  visit(parse(text), {
    Field({ alias }) {
      if (alias) aliases += 1;
    },
  });
  return { tokens, aliases };
}

function hashOf(separate) {
  return createHash('sha256').update(sentText(separate)).digest('hex');
}

function hashesText(hashes) {
  const lines = hashes.map((hash) => `  '${hash}',\n`).join('');
  return `// Generated by \`npm run console-types\`.\n/** The SHA-256 of the console's documents. */\nexport const CONSOLE_DOCUMENTS: readonly string[] = [\n${lines}];\n`;
}

function fileText(path, document, types) {
  const folder = path.slice(0, path.lastIndexOf('/'));
  const library = relative(folder, `${ROOT}/lib/document.ts`);
  const texts = new Map();
  const values = Object.entries(separateOperations(document)).map(([name, separate]) => {
    const { operation } = operationOf(separate);
    const type = `${name}${KINDS[operation]}`;
    if (operation !== 'query') {
      const text = JSON.stringify(textOf(separate));
      return `export const ${name}: Document<${type}, ${type}Variables> = {\n  name: '${name}',\n  text: ${text},\n};\n`;
    }
    const { variables, fields, fragments } = partsOf(separate);
    const { tokens, aliases } = sizeOf(sentText(separate));
    for (const [fragment, text] of Object.entries(fragments)) texts.set(fragment, text);
    const used = Object.keys(fragments).join(', ');
    return `export const ${name}: Query<${type}, ${type}Variables> = {
  name: '${name}',
  variables: ${JSON.stringify(variables)},
  fields: ${JSON.stringify(fields)},
  fragments: {${used && ` ${used} `}},
  tokens: ${tokens},
  aliases: ${aliases},
};
`;
  });
  const shared = [...texts].map(([name, text]) => `const ${name} = ${JSON.stringify(text)};\n`);
  // Remove the plugin's helper type for @defer, because no document uses @defer.
  const used = types.replace(/\/\*\* Internal type.*\*\/\nexport type Incremental.*\n/, '');
  const from = library.startsWith('.') ? library : `./${library}`;
  const imported = ['Document', 'Query'].filter((each) =>
    values.some((value) => value.includes(`: ${each}<`)),
  );
  return [
    '// Generated by `npm run console-types`; change the .graphql file instead.',
    `import type { ${imported.join(', ')} } from '${from}';\n`,
    used.trim(),
    '',
    ...shared,
    ...values,
  ].join('\n');
}

if (import.meta.filename === process.argv[1]) {
  for (const [path, text] of await consoleTypes()) {
    writeFileSync(path, text);
    console.log(path);
  }
}
