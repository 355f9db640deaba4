/** Finds every text field of both APIs in their schemas. So new fields are tested, too. */
import { Agent, type IncomingMessage, request } from 'node:http';
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from 'graphql';

/** A field of an API that takes a text. `send` sends a request with the text and resolves with the HTTP status. */
export interface TextField {
  readonly name: string;
  /** The largest length that the field accepts. */
  readonly maxLength: number;
  readonly send: (text: string) => Promise<number>;
}

/** Returns a valid value for each path, so that nothing but the tested text can be refused. Called for each request. */
export type Samples = (path: readonly string[]) => unknown;

/** Node accepts 16 KiB for the headers and the URL together. */
const HEADERS_MAX = 12_000;
const HEADER_TEXT = 6_000;
const BODY_TEXT = 6_000;
/** For fields of another type than text. There are only a few. The error message for a text may contain that text. */
const WRONG_TEXT = 60_000;

type Path = readonly (string | number)[];

/** Returns the paths of all values in a sample that are neither objects nor lists. */
function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]));
}

function withLeaf(value: unknown, [name, ...rest]: Path, text: string): unknown {
  if (name === undefined) return text;
  if (Array.isArray(value)) {
    return value.map((member, index) => (String(index) === name ? withLeaf(member, rest, text) : member));
  }
  const object = value as Record<string, unknown>;
  return { ...object, [name]: withLeaf(object[name], rest, text) };
}

/** Sends requests one after another on one connection. */
export class Sender implements Disposable {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = new URL(url);
  }

  send(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string | Buffer,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#url;
      const asked = request({ hostname, port, method, path, agent: this.#agent, headers }, (response) => {
        // The server has read the whole request when a stream begins.
        if (isStream(response)) {
          response.destroy();
          resolve(response.statusCode ?? 0);
        }
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      asked.on('error', (error: NodeJS.ErrnoException) => {
        // The server may close the connection if it refuses a body before it has read it.
        if (error.code === 'EPIPE' || error.code === 'ECONNRESET') resolve(0);
        else reject(error);
      });
      asked.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

const isStream = ({ headers }: IncomingMessage) =>
  headers['content-type']?.startsWith('text/event-stream') === true;

interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly minimum?: number;
  readonly pattern?: string;
}
interface Parameter {
  readonly $ref?: string;
  readonly schema?: JsonSchema;
  readonly name: string;
  readonly in: string;
}
interface OpenApi {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly parameters?: readonly Parameter[];
            readonly requestBody?: { readonly content: Readonly<Record<string, { schema: JsonSchema }>> };
          }
        >
      >
    >
  >;
}

/** Returns the text fields of REST: in bodies, URL paths, queries and documented headers. */
export function restFields(document: object, sender: Sender, key: string, samples: Samples): TextField[] {
  const openApi = document as OpenApi;
  const resolve = <T extends { readonly $ref?: string }>(given: T): T =>
    given.$ref === undefined
      ? given
      : (given.$ref
          .split('/')
          .slice(1)
          .reduce((at: unknown, name) => (at as Record<string, unknown>)[name], openApi) as T);
  const sampleOf = (given: JsonSchema, path: readonly string[]): unknown => {
    const schema = resolve(given);
    const known = samples(path);
    if (known !== undefined) return known;
    const [first] = schema.enum ?? [];
    if (first !== undefined) return first;
    const [choice] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
    if (choice) return sampleOf(choice, path);
    const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
    if (schema.properties) {
      return Object.fromEntries(
        Object.entries(schema.properties).map(([name, member]) => [name, sampleOf(member, [...path, name])]),
      );
    }
    if (type === 'array') return [sampleOf(schema.items ?? {}, path)];
    if (type === 'object') return { member: 'text' };
    if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
    return type === 'boolean' ? true : 'text';
  };
  const schemaAt = (given: JsonSchema | undefined, [name, ...rest]: Path): JsonSchema | undefined => {
    const schema = given && resolve(given);
    if (!schema || name === undefined) return schema;
    const inside = schema.properties?.[String(name)] ?? schema.items;
    return schemaAt(inside, rest);
  };
  const seen = new Set<string>();
  /** False if an enum or number of the same kind was found before. */
  const isNew = (given: JsonSchema | undefined, name: string): boolean => {
    const { type, enum: words, pattern } = given ? resolve(given) : {};
    const isText = (type === undefined || type === 'string') && words === undefined && pattern === undefined;
    if (isText) return true;
    const rule = `${name} ${JSON.stringify(words ?? type)}`;
    if (seen.has(rule)) return false;
    seen.add(rule);
    return true;
  };
  return Object.entries(openApi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([verb, route]): TextField[] => {
      const method = verb.toUpperCase();
      const at = (text: (name: string) => string) =>
        `/api/v1${path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(text(name).toWellFormed()))}`;
      const sampleAt = (name: string) => String(samples([path, name]) ?? samples([name]) ?? 'text');
      const schema = route.requestBody?.content['application/json']?.schema;
      const body = () => (schema ? sampleOf(schema, [path]) : undefined);
      const headers = { 'x-api-key': key, ...(schema ? { 'content-type': 'application/json' } : {}) };
      const place = `${method} ${path}`;
      const parameters = (route.parameters ?? []).map(resolve).flatMap((parameter): TextField[] => {
        if (!isNew(parameter.schema, parameter.name)) return [];
        const { name } = parameter;
        const sent = (text: string) => {
          if (parameter.in === 'path')
            return [at((other) => (other === name ? text : sampleAt(other)))] as const;
          if (parameter.in === 'query')
            return [`${at(sampleAt)}?${name}=${encodeURIComponent(text.toWellFormed())}`] as const;
          return [at(sampleAt), { ...headers, [name.toLowerCase()]: headerText(text) }] as const;
        };
        const send = (text: string) => {
          const [target, own = headers] = sent(text);
          return sender.send(method, target.slice(0, HEADERS_MAX), own, schema && JSON.stringify(body()));
        };
        return [{ name: `${place} ${parameter.in} ${name}`, maxLength: HEADER_TEXT, send }];
      });
      const leaves = (schema ? leavesOf(body()) : [])
        .filter((leaf) => isNew(schemaAt(schema, leaf), ''))
        .map(
          (leaf): TextField => ({
            name: `${place} ${leaf.join('.')}`,
            maxLength: BODY_TEXT,
            send: (text) =>
              sender.send(method, at(sampleAt), headers, JSON.stringify(withLeaf(body(), leaf, text))),
          }),
        );
      return [...parameters, ...leaves];
    }),
  );
}

/** Removes what a header cannot contain: line breaks, and characters outside Latin-1. */
export function headerText(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '~').trim();
}

/** Returns the text fields of GraphQL: each argument (as a variable), and each value inside one. */
export function graphqlFields(
  schema: GraphQLSchema,
  sender: Sender,
  tokenOf: (field: string) => string,
  samples: Samples,
): TextField[] {
  const sampleOf = (type: GraphQLInputType, path: readonly string[]): unknown => {
    if (isNonNullType(type)) return sampleOf(type.ofType, path);
    const known = samples(path);
    if (known !== undefined) return known;
    if (isListType(type)) return [sampleOf(type.ofType, path)];
    if (isInputObjectType(type)) {
      return Object.fromEntries(
        Object.values(type.getFields()).map((field) => [
          field.name,
          sampleOf(field.type, [...path, field.name]),
        ]),
      );
    }
    if (isEnumType(type)) return type.getValues().at(-1)?.name;
    if (type.name === 'Int' || type.name === 'Float') return 1;
    if (type.name === 'Boolean') return true;
    if (type.name === 'DateTime') return new Date(Date.now() + 60_000).toISOString();
    return type.name === 'JSONObject' ? { member: 'text' } : 'text';
  };
  const seen = new Set<string>();
  /**
   * False if a value of the same type was found before and that type is not text. The schema refuses all of them in the
   * same way.
   */
  const isNew = (type: GraphQLInputType | undefined): boolean => {
    if (!type || takesText(type)) return true;
    const { name } = getNamedType(type);
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  };
  const kinds = [
    ['query', schema.getQueryType()],
    ['mutation', schema.getMutationType()],
    ['subscription', schema.getSubscriptionType()],
  ] as const;
  return kinds.flatMap(([kind, type]) =>
    Object.values(type?.getFields() ?? {}).flatMap((field) => {
      const query = documentOf(kind, field);
      const variables = () =>
        Object.fromEntries(
          field.args.map((argument) => [argument.name, sampleOf(argument.type, [field.name, argument.name])]),
        );
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${tokenOf(field.name)}`,
      };
      const path = kind === 'subscription' ? '/graphql/stream' : '/graphql';
      return leavesOf(variables())
        .filter((leaf) => leaf.length > 0 && isNew(typeAt(field.args, leaf)))
        .map(
          (leaf): TextField => ({
            name: `${kind} ${field.name} ${leaf.join('.')}`,
            maxLength: takesText(typeAt(field.args, leaf)) ? BODY_TEXT : WRONG_TEXT,
            send: (text) =>
              sender.send(
                'POST',
                path,
                headers,
                JSON.stringify({ query, variables: withLeaf(variables(), leaf, text) }),
              ),
          }),
        );
    }),
  );
}

/** Returns the type of the value at a path. Undefined inside JSON. */
function typeAt(
  fields: readonly { readonly name: string; readonly type: GraphQLInputType }[],
  [name, ...rest]: Path,
): GraphQLInputType | undefined {
  const type = fields.find((field) => field.name === name)?.type;
  const named = type && getNamedType(type);
  if (rest.length === 0 || !isInputObjectType(named)) return rest.every(isIndex) ? type : undefined;
  const [first, ...others] = rest;
  return typeAt(Object.values(named.getFields()), isIndex(first) ? others : rest);
}

function takesText(type: GraphQLInputType | undefined): boolean {
  return type === undefined || ['String', 'ID', 'JSONObject'].includes(getNamedType(type).name);
}

const isIndex = (name: string | number | undefined) => Number.isInteger(Number(name));

function documentOf(kind: string, field: GraphQLField<unknown, unknown>): string {
  const named = (join: (argument: GraphQLArgument) => string) => field.args.map(join).join(', ');
  const declared = field.args.length === 0 ? '' : `(${named(({ name, type }) => `$${name}: ${type}`)})`;
  const given = field.args.length === 0 ? '' : `(${named(({ name }) => `${name}: $${name}`)})`;
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }';
  return `${kind} ${declared} { ${field.name}${given}${selection} }`;
}
