import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  GraphQLError,
  type GraphQLField,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  introspectionTypes,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  visit,
} from 'graphql';
import { SLICE_DEFAULT, SLICE_MAX } from '../domain/paging.ts';
import { valuePaths, variablePath } from './argument-paths.ts';
import { type Bill, eachOf, isBeyondDryRun, isConnection, isDryRun, totalOf } from './cost.ts';
import { badUserInput } from './error-format.ts';
import { coerceVariables, type Variables } from './variables.ts';

/** Limits of a query. A query that exceeds one of them is refused before it runs. */
export const LIMITS = {
  /** Greatest number of tokens. Checked while the document is parsed. */
  tokens: 1_000,
  /**
   * Greatest number of lines. It is checked before parsing, because graphql-js counts all lines again for each error.
   */
  lines: 1_000,
  depth: 10,
  aliases: 15,
  directives: 50,
  mutations: 1,
  /**
   * Greatest number of points of an operation. It also limits several events of a subscription that are resolved
   * together. Each object of the response costs one point, and some fields cost more (cost.ts). Before the operation
   * runs, a plain list counts as 10 objects, and a connection as `first` objects. list-bound.ts limits lists that are
   * longer than that.
   */
  cost: 10_000,
} as const;
/** Greatest number of errors in a response. Validation stops there. */
export const ERRORS_MAX = 10;
/** Options of validation. It suggests no similar names, because suggestions would reveal the schema. */
export const VALIDATION = { maxErrors: ERRORS_MAX, hideSuggestions: true } as const;
const LIST_SIZE = 10;
/**
 * Number of objects of an introspection that cost one point. They need no database, but there are so many that a few
 * queries without a price would occupy the process.
 */
const INTROSPECTED_A_POINT = 100;
const INTROSPECTION: Readonly<Record<string, GraphQLField<unknown, unknown>>> = {
  __schema: SchemaMetaFieldDef,
  __type: TypeMetaFieldDef,
};
/** Number of events of a subscription that are resolved together, as one response. */
const EVENTS_AT_ONCE = 50;

/** The facts about the list that contains a selection. */
interface Within {
  /** Estimated number of rows of the list. */
  readonly rows: number;
  /** Points of the list's `totalCount`. */
  readonly total: number;
  /** True below a mutation that is a dry run. */
  readonly isDry: boolean;
}
const PLAIN: Within = { rows: LIST_SIZE, total: 0, isDry: false };

interface Measure {
  readonly depth: number;
  readonly cost: number;
}

/**
 * Throws an error for the first limit that the operation exceeds (R224), or for the first variable that does not fit
 * its type. `variables` are as the caller sent them. A missing variable counts with its default. Writes the estimated
 * points of the operation into `bill`. For a subscription, these are the points of one event.
 */
export function checkLimits(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
  bill: Bill,
): void {
  let aliases = 0;
  let directives = 0;
  visit(document, {
    Field: (field) => {
      if (field.alias) aliases += 1;
    },
    Directive: () => {
      directives += 1;
    },
    StringValue: (node) => checkText(node.value, () => valuePaths(document, new Set([node])).get(node) ?? ''),
  });
  for (const [name, value] of Object.entries(variables)) {
    checkText(name, () => '');
    checkText(value, (path) => [variablePath(document, name), ...path].join('.'));
  }
  refuseOver('aliases', aliases);
  refuseOver('directives', directives);
  const type = schema.getRootType(operation.operation);
  if (!type) return;
  const meter = new Meter(schema, document, coerceVariables(schema, document, operation, variables));
  if (operation.operation === 'mutation') refuseOver('mutations', meter.countFields(operation.selectionSet));
  const { depth, cost } = meter.measure(operation.selectionSet, type, PLAIN);
  bill.requested = cost;
  bill.certain = meter.introspected;
  refuseOver('depth', depth);
  refuseOver('cost', operation.operation === 'subscription' ? cost * EVENTS_AT_ONCE : cost);
}

/**
 * Refuses text that cannot be stored, anywhere in `value` (R5). `placeOf` makes the path that the error names. `path`
 * leads to `value`. It is one array for the whole walk, because a value may have 60,000 members.
 */
function checkText(value: unknown, placeOf: (path: readonly string[]) => string, path: string[] = []): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw badUserInput(placeOf(path), 'must not contain U+0000');
    if (!value.isWellFormed()) throw badUserInput(placeOf(path), 'contains half of a surrogate pair');
  } else if (typeof value === 'object' && value !== null) {
    const isList = Array.isArray(value);
    for (const name in value) {
      if (!isList) checkText(name, placeOf, path);
      const member: unknown = (value as Record<string, unknown>)[name];
      if (typeof member !== 'string' && typeof member !== 'object') continue;
      path.push(name);
      checkText(member, placeOf, path);
      path.pop();
    }
  }
}

function refuseOver(limit: keyof typeof LIMITS, value: number): void {
  const most = LIMITS[limit];
  if (value <= most) return;
  throw limitRefusal(limit, `The query has a ${limit} of ${value}; at most ${most} are allowed.`);
}

/** Returns the error for a dry run that selects too much (R331). */
function dryRunRefusal(field: string): GraphQLError {
  return badUserInput(
    'dryRun',
    `must not be true with the field ${field}: a dry run holds locks until it is answered, so it shows no long lists`,
  );
}

/** Returns the error for a query that exceeds a limit. */
export function limitRefusal(limit: keyof typeof LIMITS, message: string): GraphQLError {
  return new GraphQLError(message, {
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', limit, http: { status: 400 } },
  });
}

/**
 * Measures the selections of a document. The document must have been validated: all fragments exist, and none contains
 * itself.
 */
class Meter {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  /** The result for each fragment. So each fragment is measured once, even if it is used several times. */
  readonly #measured = new Map<string, Measure>();
  #introspected = 0;

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Variables) {
    this.#schema = schema;
    const fragments = document.definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
    this.#fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
    this.#variables = variables;
  }

  /** Points of the introspection that was measured so far. */
  get introspected(): number {
    return this.#introspected;
  }

  /** Returns the depth and the cost of selections on `type`. */
  measure(selections: SelectionSetNode, type: GraphQLCompositeType, within: Within): Measure {
    let depth = 0;
    let cost = 0;
    for (const selection of selections.selections) {
      const part = this.#measureSelection(selection, type, within);
      depth = Math.max(depth, part.depth);
      cost += part.cost;
    }
    return { depth, cost };
  }

  /** Returns the number of fields at the top level of a selection. */
  countFields(selections: SelectionSetNode): number {
    const counted = new Map<string, number>();
    const count = (set: SelectionSetNode): number =>
      set.selections.reduce((sum, selection) => {
        if (selection.kind === Kind.FIELD) return sum + 1;
        if (selection.kind === Kind.INLINE_FRAGMENT) return sum + count(selection.selectionSet);
        const name = selection.name.value;
        const fragment = this.#fragments.get(name);
        const known = counted.get(name) ?? (fragment ? count(fragment.selectionSet) : 0);
        counted.set(name, known);
        return sum + known;
      }, 0);
    return count(selections);
  }

  #measureSelection(
    selection: SelectionSetNode['selections'][number],
    type: GraphQLCompositeType,
    within: Within,
  ): Measure {
    switch (selection.kind) {
      case Kind.FIELD: {
        const field = 'getFields' in type ? type.getFields()[selection.name.value] : undefined;
        if (!field) return this.#measureIntrospection(selection);
        if (within.isDry && isBeyondDryRun(field)) throw dryRunRefusal(`${type.name}.${field.name}`);
        return this.#measureField(selection, field, within);
      }
      case Kind.INLINE_FRAGMENT:
        return this.measure(selection.selectionSet, this.#typeOf(selection.typeCondition, type), within);
      case Kind.FRAGMENT_SPREAD: {
        const key = `${selection.name.value} ${within.rows} ${within.total} ${within.isDry}`;
        const known = this.#measured.get(key);
        if (known) return known;
        const fragment = this.#fragments.get(selection.name.value);
        const measured = fragment
          ? this.measure(fragment.selectionSet, this.#typeOf(fragment.typeCondition, type), within)
          : { depth: 0, cost: 0 };
        this.#measured.set(key, measured);
        return measured;
      }
    }
  }

  #measureField(node: FieldNode, field: GraphQLField<unknown, unknown>, within: Within): Measure {
    const type = getNamedType(field.type);
    const args = field.args.length > 0 ? getArgumentValues(field, node, this.#variables) : {};
    const each = field.name === 'totalCount' ? within.total : eachOf(field, args);
    if (!node.selectionSet || !isCompositeType(type)) return { depth: 1, cost: each };
    const list = isConnection(field) ? { rows: rowsOf(args), total: totalOf(field, args) } : PLAIN;
    const inside = { ...list, isDry: within.isDry || isDryRun(args) };
    const { depth, cost } = this.measure(node.selectionSet, type, inside);
    const nullable = isNonNullType(field.type) ? field.type.ofType : field.type;
    const times = isListType(nullable) ? (sizesOf(this.#schema).get(field) ?? within.rows) : 1;
    return { depth: depth + 1, cost: each + times * (1 + cost) };
  }

  /**
   * Measures the field `__schema` or `__type`. Its depth does not count: tools ask for the whole schema, which is deep. Other
   * fields without a definition, such as `__typename`, are free.
   */
  #measureIntrospection(node: FieldNode): Measure {
    const field = INTROSPECTION[node.name.value];
    if (!field) return { depth: 1, cost: 0 };
    const cost = Math.ceil(this.#measureField(node, field, PLAIN).cost / INTROSPECTED_A_POINT);
    this.#introspected += cost;
    return { depth: 1, cost };
  }

  /**
   * Returns the type to which a fragment applies. For a union or an interface, the costs of fragments on several types
   * are added up.
   */
  #typeOf(condition: NamedTypeNode | undefined, type: GraphQLCompositeType): GraphQLCompositeType {
    const named = condition && this.#schema.getType(condition.name.value);
    return isCompositeType(named) ? named : type;
  }
}

type ListSizes = ReadonlyMap<GraphQLField<unknown, unknown>, number>;
const knownSizes = new WeakMap<GraphQLSchema, ListSizes>();

/** Returns the usual length of each list of an introspection: the number of types, or the mean over what has such a list. */
function sizesOf(schema: GraphQLSchema): ListSizes {
  const known = knownSizes.get(schema);
  if (known) return known;
  const types = Object.values(schema.getTypeMap());
  const fields = types.flatMap((type) => ('getFields' in type ? [Object.values(type.getFields())] : []));
  const outputs = types.filter((type) => isObjectType(type) || isInterfaceType(type));
  const mean = (lists: readonly (readonly unknown[])[]) => {
    const filled = lists.filter(({ length }) => length > 0);
    return Math.ceil(filled.reduce((sum, { length }) => sum + length, 0) / Math.max(1, filled.length));
  };
  const each = mean(fields);
  const args = mean(outputs.flatMap((type) => Object.values(type.getFields()).map((field) => field.args)));
  const sizes: Readonly<Record<string, Readonly<Record<string, number>>>> = {
    __Schema: { types: types.length, directives: schema.getDirectives().length },
    __Type: {
      fields: each,
      inputFields: each,
      enumValues: mean(types.filter(isEnumType).map((type) => type.getValues())),
      possibleTypes: mean(types.filter(isAbstractType).map((type) => schema.getPossibleTypes(type))),
      interfaces: mean(outputs.map((type) => type.getInterfaces())),
    },
    __Field: { args },
    __Directive: { args },
  };
  const found: ListSizes = new Map(
    introspectionTypes.flatMap((type) =>
      isObjectType(type)
        ? Object.entries(type.getFields()).flatMap(([name, field]): [typeof field, number][] => {
            const size = sizes[type.name]?.[name];
            return size === undefined ? [] : [[field, size]];
          })
        : [],
    ),
  );
  knownSizes.set(schema, found);
  return found;
}

/** Returns the number of rows that a page asks for. Throws `BAD_USER_INPUT` unless it is 1 to 100. */
function rowsOf(args: Readonly<Record<string, unknown>>): number {
  const name = typeof args.last === 'number' ? 'last' : 'first';
  const value = args[name] ?? SLICE_DEFAULT;
  if (typeof value !== 'number' || value < 1 || value > SLICE_MAX) {
    throw badUserInput(name, `must be a whole number from 1 to ${SLICE_MAX}`);
  }
  return value;
}
