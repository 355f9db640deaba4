/** Queries that are run again after a commit that may change their answer (R444). */
import {
  DirectiveLocation,
  type DocumentNode,
  GraphQLDirective,
  GraphQLError,
  GraphQLSchema,
  getNamedType,
  isCompositeType,
  Kind,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { LiveKind } from '../domain/ports/changes.ts';

const LIVE = 'live';

/**
 * The kinds of changes that may change an object of a type, without the objects that its fields return. A type that is
 * missing here changes without an announcement, and is refused. Administration is announced by its audit entry.
 */
const KINDS: Readonly<Record<string, readonly LiveKind[]>> = {
  Query: [],
  Node: [],
  Actor: [],
  PageInfo: [],
  Money: [],
  System: [],
  Message: ['message'],
  MessageMetadata: ['message'],
  MessageEvent: ['message'],
  TimelineEntry: ['message'],
  RecipientCounts: ['message'],
  Recipient: ['message'],
  RecipientError: ['message'],
  UsageBucket: ['message'],
  LedgerEntry: ['message', 'usage'],
  Account: ['message', 'usage', 'audit'],
  WebhookDelivery: ['delivery'],
  DeliveryAttempt: ['delivery'],
  WebhookStats: ['delivery'],
  Webhook: ['audit'],
  User: ['audit'],
  ApiKey: ['audit'],
  RateLimit: ['audit'],
  AuditEntry: ['audit'],
  Alert: ['alert'],
  AlertRule: ['audit'],
  AuditTarget: ['audit'],
  ContactImport: ['import'],
  ImportProgress: ['import'],
  ContactImportError: ['import'],
};
/** Fields of these types that change without an announcement. */
const SILENT: ReadonlySet<string> = new Set(['ApiKey.lastUsedAt', 'Query.search']);

/** Returns the schema with the directive `@live`. */
export function withLiveDirective(schema: GraphQLSchema): GraphQLSchema {
  const live = new GraphQLDirective({
    name: LIVE,
    description:
      'Runs the query again after a commit that may change its answer, at most once a second. Only over an event stream, and only for documents that the server knows by their hash; anywhere else the query runs once.',
    locations: [DirectiveLocation.QUERY],
  });
  return new GraphQLSchema({ ...schema.toConfig(), directives: [...schema.getDirectives(), live] });
}

/** True if an operation has the directive `@live`. */
export function isLive({ directives = [] }: OperationDefinitionNode): boolean {
  return directives.some(({ name }) => name.value === LIVE);
}

/**
 * Returns the kinds of changes that may change the answer of a query. The document must be valid. Throws
 * `GRAPHQL_VALIDATION_FAILED` if the query selects a field whose changes are not announced, or nothing that changes.
 */
export function liveKindsOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): readonly LiveKind[] {
  const own = separateOperations(document)[operation.name?.value ?? ''] ?? document;
  const types = new TypeInfo(schema);
  const kinds = new Set<LiveKind>();
  visit(
    own,
    visitWithTypeInfo(types, {
      [Kind.FIELD](node) {
        const [parent, field] = [types.getParentType(), types.getFieldDef()];
        if (!parent || !field || field.name.startsWith('__')) return;
        const name = `${parent.name}.${field.name}`;
        const type = getNamedType(field.type);
        const isLeafOfQuery = parent === schema.getQueryType() && !isCompositeType(type);
        const found = isCompositeType(type) ? kindsOf(type.name) : kindsOf(parent.name);
        if (!found || isLeafOfQuery || SILENT.has(name)) {
          throw refusal(`${name} may change without a notice, so it cannot be in a query with @live.`, node);
        }
        for (const kind of found) kinds.add(kind);
      },
    }),
  );
  if (kinds.size === 0) throw refusal('Nothing in this query changes.', operation);
  return [...kinds];
}

/** Returns the kinds of a type, or of the objects of a connection. */
function kindsOf(type: string): readonly LiveKind[] | undefined {
  return KINDS[type] ?? KINDS[type.replace(/(Connection|Edge)$/, '')];
}

function refusal(message: string, node: OperationDefinitionNode | Parameters<typeof visit>[0]): GraphQLError {
  return new GraphQLError(message, {
    nodes: [node],
    extensions: { code: 'GRAPHQL_VALIDATION_FAILED', http: { status: 400 } },
  });
}
