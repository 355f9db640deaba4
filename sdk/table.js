/**
 * The table of operations from which both SDKs are generated. sdk/operations.json gives the method names and type names
 * for the operations of schema/openapi.json.
 */
import { readFileSync } from 'node:fs';

const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

/**
 * Returns the resources in order, with their operations, and every named schema. Throws if the two files do not match:
 * an operation is missing or unknown, or two different schemas have the same name.
 */
export function readTable() {
  const document = renamed(read('../schema/openapi.json'));
  const documented = operationsOf(document);
  const schemas = new Map();
  const names = read('operations.json');
  const resources = Object.entries(names).map(([name, methods]) => ({
    name,
    operations: Object.entries(methods).map(([method, entry]) => {
      const found = documented.get(entry.operation);
      if (!found)
        throw new Error(`${name}.${method}: schema/openapi.json has no operation ${entry.operation}`);
      documented.delete(entry.operation);
      return operationOf(document, schemas, `${name}.${method}`, method, entry, found);
    }),
  }));
  if (documented.size > 0) {
    throw new Error(`name these operations in sdk/operations.json: ${[...documented.keys()].join(', ')}`);
  }
  const codes = ['AccessError', 'RequestError'].flatMap((schema) =>
    codesOf(document.components.schemas[schema]),
  );
  return { resources, schemas, codes };
}

/**
 * Renames the schema `Event` to `GatewayEvent`. `Event` is also a global type of browsers, so a forgotten import would
 * cause no error.
 */
function renamed(document) {
  const text = JSON.stringify(document).replaceAll(
    '#/components/schemas/Event"',
    '#/components/schemas/GatewayEvent"',
  );
  const { components, ...rest } = JSON.parse(text);
  const { Event: GatewayEvent, ...schemas } = components.schemas;
  return { ...rest, components: { ...components, schemas: { ...schemas, GatewayEvent } } };
}

function operationsOf({ paths }) {
  const found = new Map();
  for (const [path, item] of Object.entries(paths)) {
    for (const method of ['get', 'post', 'put', 'delete']) {
      if (item[method]) found.set(item[method].operationId, { path, method, ...item[method] });
    }
  }
  return found;
}

function operationOf(document, schemas, at, name, entry, { path, method, summary, description, ...rest }) {
  const parameters = (rest.parameters ?? []).map((given) => resolve(document, given));
  const keep = (schemaName, schema) => keepSchema(document, schemas, at, schemaName, schema);
  const query = parameters.filter((each) => each.in === 'query');
  const body = rest.requestBody?.content['application/json'].schema;
  const success = rest.responses['200'] ?? rest.responses['201'] ?? rest.responses['202'];
  const answer = success.content['application/json'].schema;
  const isPaged = answer.properties?.pagination !== undefined;
  const isKeyed = parameters.some((each) => each.name === 'Idempotency-Key');
  const byMethod = method === 'post' ? 'once' : 'always';
  if (query.length > 0 && !entry.query) throw new Error(`${at}: name its query`);
  if (body && !entry.body) throw new Error(`${at}: name its body`);
  return {
    name,
    path,
    method: method.toUpperCase(),
    summary,
    description,
    pathParameters: parameters.filter((each) => each.in === 'path').map((each) => each.name),
    query: entry.query && {
      type: keep(entry.query, querySchema(query)),
      isRequired: query.some((each) => each.required),
      members: query.map((each) => ({ name: each.name, isRequired: each.required === true, ...each.schema })),
    },
    body: body && {
      type: keep(entry.body, body),
      isRequired: rest.requestBody.required === true,
      members: Object.entries(body.properties).map(([member, schema]) => ({
        name: member,
        isRequired: body.required?.includes(member) ?? false,
        ...schema,
      })),
    },
    isPaged,
    /**
     * True if the list has the query parameter `until`. It excludes entries that are created while the SDK loads all
     * pages.
     */
    isPinned: query.some((each) => each.name === 'until'),
    answer: keep(isPaged ? entry.item : entry.answer, isPaged ? answer.properties.data.items : answer),
    repeat: entry.repeat ?? (isKeyed ? 'keyed' : byMethod),
  };
}

const querySchema = (parameters) => ({
  type: 'object',
  properties: Object.fromEntries(
    parameters.map((each) => [each.name, { description: each.description, ...each.schema }]),
  ),
  required: parameters.filter((each) => each.required).map((each) => each.name),
});

function resolve(document, { $ref, ...given }) {
  return $ref === undefined ? given : document.components.parameters[$ref.split('/').at(-1)];
}

/**
 * Adds a schema, and all schemas that it refers to, to `schemas`. The name is that of its `$ref`, else `name`. Returns
 * the name.
 */
function keepSchema(document, schemas, at, name, schema) {
  if (schema.$ref !== undefined) {
    const own = schema.$ref.split('/').at(-1);
    if (!schemas.has(own)) keepSchema(document, schemas, at, own, document.components.schemas[own]);
    return own;
  }
  if (name === undefined) throw new Error(`${at}: name its answer`);
  const { examples: _, ...kept } = schema;
  const earlier = schemas.get(name);
  if (earlier && JSON.stringify(earlier) !== JSON.stringify(kept))
    throw new Error(`${at}: ${name} has another shape`);
  schemas.set(name, kept);
  for (const reference of referencesIn(kept)) keepSchema(document, schemas, at, undefined, reference);
  return name;
}

function referencesIn(node) {
  if (typeof node !== 'object' || node === null) return [];
  if (typeof node.$ref === 'string') return [node];
  return Object.values(node).flatMap(referencesIn);
}

function codesOf(schema) {
  if (typeof schema !== 'object' || schema === null) return [];
  if (Array.isArray(schema.enum)) return schema.enum;
  return Object.values(schema.properties ?? {}).flatMap(codesOf);
}
