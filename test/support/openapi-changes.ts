/**
 * Finds incompatible changes between two OpenAPI documents (R1). Such a change would break a client of the older
 * document.
 */

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}
interface Parameter {
  readonly $ref?: string;
  readonly in: string;
  readonly name: string;
  readonly required?: boolean;
  readonly schema: Schema;
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Route {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Route>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const METHODS = ['get', 'post', 'put', 'delete'];

/** Returns each incompatible change, by operation and member. Empty if there is none. */
export function incompatibleChanges(older: OpenApiDocument, newer: OpenApiDocument): string[] {
  return Object.entries(older.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const before = item[method];
      if (!before) return [];
      const after = newer.paths[path]?.[method];
      const at = `${method.toUpperCase()} ${path}`;
      return after ? changesOf(older, newer, at, before, after) : [`${at} is gone`];
    }),
  );
}

function changesOf(
  older: OpenApiDocument,
  newer: OpenApiDocument,
  at: string,
  before: Route,
  after: Route,
): string[] {
  const found: string[] = before.operationId === after.operationId ? [] : [`${at}: its operationId changed`];
  const parametersOf = (document: OpenApiDocument, { parameters = [] }: Route) =>
    new Map(
      parameters.map((each) => resolve(document, each)).map((each) => [`${each.in} ${each.name}`, each]),
    );
  const earlier = parametersOf(older, before);
  for (const [name, parameter] of parametersOf(newer, after)) {
    if (parameter.required && !earlier.get(name)?.required) found.push(`${at}: ${name} became required`);
  }
  const later = parametersOf(newer, after);
  for (const [name, parameter] of earlier) {
    const now = later.get(name);
    if (!now) found.push(`${at}: ${name} is gone`);
    else found.push(...narrowed(newer, older, `${at}: ${name}`, now.schema, parameter.schema));
  }
  const schemaOf = (content?: Content) => content?.content?.['application/json']?.schema;
  const body = schemaOf(before.requestBody);
  const bodyNow = schemaOf(after.requestBody);
  // The newer document must accept every request of the older one, and must still give its answers.
  if (bodyNow) found.push(...narrowed(newer, older, `${at}: body`, bodyNow, body ?? {}));
  for (const [status, response] of Object.entries(before.responses).filter(([code]) =>
    code.startsWith('2'),
  )) {
    const now = after.responses[status];
    const answered = schemaOf(response);
    if (!now) found.push(`${at}: ${status} is gone`);
    else if (answered) found.push(...narrowed(older, newer, `${at}: answer`, answered, schemaOf(now) ?? {}));
  }
  return found;
}

/** Returns where `provided` does not satisfy `demanded`: missing members and other types. */
function narrowed(
  demandedIn: OpenApiDocument,
  providedIn: OpenApiDocument,
  at: string,
  demanded: Schema,
  provided: Schema,
): string[] {
  const wanted = resolve(demandedIn, demanded);
  const given = resolve(providedIn, provided);
  const found: string[] = [];
  const types = typesOf(wanted);
  const others = typesOf(given).filter((type) => types.length > 0 && !types.includes(type));
  if (others.length > 0) found.push(`${at} is ${others.join(' or ')} on one side only`);
  for (const name of wanted.required ?? []) {
    if (!given.required?.includes(name)) found.push(`${at}.${name} is required on one side only`);
  }
  for (const [name, member] of Object.entries(wanted.properties ?? {})) {
    const other = given.properties?.[name];
    if (other) found.push(...narrowed(demandedIn, providedIn, `${at}.${name}`, member, other));
  }
  if (wanted.items && given.items) {
    found.push(...narrowed(demandedIn, providedIn, `${at}[]`, wanted.items, given.items));
  }
  return found;
}

const typesOf = ({ type = [] }: Schema): readonly string[] => (typeof type === 'string' ? [type] : type);

function resolve<Node extends { readonly $ref?: string }>(document: OpenApiDocument, node: Node): Node {
  if (node.$ref === undefined) return node;
  const [, , group = '', name = ''] = node.$ref.split('/');
  return document.components[group]?.[name] as Node;
}
