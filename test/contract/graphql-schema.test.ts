import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import {
  buildSchema,
  findBreakingChanges,
  type GraphQLArgument,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';
import { createSchema, schemaText } from '../../src/graphql/schema.ts';

const inSchemaFolder = (name: string) => readFile(new URL(`../../schema/${name}`, import.meta.url), 'utf8');
const schema = createSchema();
const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
);

/** Returns each element of a type with its description. */
function described(type: GraphQLNamedType): [string, string | null | undefined][] {
  const own: [string, string | null | undefined] = [type.name, type.description];
  if (isEnumType(type)) {
    return [
      own,
      ...type.getValues().map((value): typeof own => [`${type.name}.${value.name}`, value.description]),
    ];
  }
  if (!isObjectType(type) && !isInputObjectType(type)) return [own];
  const fields = Object.values(type.getFields()).flatMap((field): (typeof own)[] => [
    [`${type.name}.${field.name}`, field.description],
    ...('args' in field ? field.args : []).map((argument: GraphQLArgument): typeof own => [
      `${type.name}.${field.name}(${argument.name})`,
      argument.description,
    ]),
  ]);
  // Root types need no description.
  const roots: unknown[] = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  return roots.includes(type) ? fields : [own, ...fields];
}

/** Returns each deprecated name with its reason. */
function deprecations(from: GraphQLSchema): [string, string][] {
  return Object.values(from.getTypeMap()).flatMap((type) => {
    const members = isEnumType(type)
      ? type.getValues()
      : isObjectType(type) || isInputObjectType(type)
        ? Object.values(type.getFields())
        : [];
    return members.flatMap(({ name, deprecationReason }): [string, string][] =>
      deprecationReason ? [[`${type.name}.${name}`, deprecationReason]] : [],
    );
  });
}

const DATES = /^Since (\d{4}-\d{2}-\d{2}), ends (\d{4}-\d{2}-\d{2})\. ./;
const NOTICE_MS = 180 * 24 * 3_600_000;

/** Returns the names whose deprecation has no dates, or not enough time between them. */
const hasty = (from: GraphQLSchema) =>
  deprecations(from)
    .filter(([, reason]) => {
      const [, since = '', ends = ''] = DATES.exec(reason) ?? [];
      return !(Date.parse(ends) - Date.parse(since) >= NOTICE_MS);
    })
    .map(([name]) => name);

/** Returns the breaking changes of names that were not deprecated, or whose last day has not come. */
function unannounced(released: GraphQLSchema, present: GraphQLSchema, now = new Date()): string[] {
  const ended = deprecations(released)
    .filter(([, reason]) => Date.parse(DATES.exec(reason)?.[2] ?? '') <= now.getTime())
    .map(([name]) => `${name} was removed.`);
  return findBreakingChanges(released, present)
    .map(({ description }) => description)
    .filter((description) => !ended.includes(description));
}

describe('the schema of the GraphQL API (R236)', () => {
  it('equals the committed file: npm run schema writes it', async () => {
    expect(await inSchemaFolder('schema.graphql')).toBe(schemaText());
  });

  it('keeps everything of version 1, with its type, until the date of its deprecation (R323)', async () => {
    const released = buildSchema(await inSchemaFolder('released.graphql'));
    expect(unannounced(released, schema)).toEqual([]);
  });

  it('protects what was added to version 1, too: npm run schema writes it to released.graphql', async () => {
    const released = buildSchema(await inSchemaFolder('released.graphql'));
    expect(findBreakingChanges(schema, released).map(({ description }) => description)).toEqual([]);
  });

  it('deprecates with the dates of its beginning and end, 180 days apart at least (R323)', () => {
    expect(hasty(schema)).toEqual([]);
    const deprecating = (reason: string) =>
      buildSchema(`type Query { a: Int @deprecated(reason: "${reason}") b: Int }`);
    expect(hasty(deprecating('Use b.'))).toEqual(['Query.a']);
    expect(hasty(deprecating('Since 2027-01-01, ends 2027-06-29. Use b.'))).toEqual(['Query.a']);
    const announced = deprecating('Since 2027-01-01, ends 2027-06-30. Use b.');
    expect(hasty(announced)).toEqual([]);
    const gone = buildSchema('type Query { b: Int }');
    expect(unannounced(announced, gone, new Date('2027-06-29'))).toEqual(['Query.a was removed.']);
    expect(unannounced(announced, gone, new Date('2027-06-30'))).toEqual([]);
  });

  it('a removed or retyped field would fail this test', async () => {
    const released = await inSchemaFolder('released.graphql');
    const removed = buildSchema(released.replace(/\n {2}"""[^"]*"""\n {2}balance: Float!/, ''));
    const retyped = buildSchema(released.replace('balance: Float!', 'balance: String'));
    expect(findBreakingChanges(buildSchema(released), removed)).toHaveLength(1);
    expect(findBreakingChanges(buildSchema(released), retyped)).toHaveLength(1);
  });

  it('each mutation of a list of ids tells of each item that it left, by its place (R277)', () => {
    const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
    const bulk = mutations.filter(({ args }) => args.some(({ type }) => String(type).startsWith('[ID')));
    expect(bulk.map(({ name }) => name)).toEqual(['updateApiKeys', 'redeliverMany']);
    for (const { type } of bulk) {
      const payload = getNamedType(type);
      const errors = isObjectType(payload) ? payload.getFields().userErrors : undefined;
      expect(String(errors?.type)).toBe('[UserError!]!');
    }
    const error = schema.getType('UserError');
    expect(isObjectType(error) && Object.keys(error.getFields()).sort()).toEqual([
      'code',
      'index',
      'message',
      'path',
    ]);
  });

  it('describes every type, field, argument and enum value', () => {
    const nameless = types.flatMap(described).flatMap(([name, text]) => (text?.trim() ? [] : [name]));
    expect(nameless).toEqual([]);
  });

  it('has the fixed names', () => {
    const fields = (name: string) =>
      Object.keys((schema.getType(name) as ReturnType<typeof schema.getQueryType>)?.getFields() ?? {});
    expect(fields('Query')).toEqual(expect.arrayContaining(QUERIES));
    expect(fields('Mutation')).toEqual(expect.arrayContaining(MUTATIONS));
    expect(fields('Subscription')).toEqual(
      expect.arrayContaining(['messageUpdated', 'deliveryUpdated', 'usageTick']),
    );
    expect(fields('Session')).toEqual(expect.arrayContaining(['token', 'expiresAt', 'user']));
    for (const [type, names] of Object.entries(TYPES)) {
      expect([type, fields(type)]).toEqual([type, expect.arrayContaining(names.split(' '))]);
    }
  });

  /** Types whose lists may stop searching before their end (R334). */
  const SEARCHED = ['Message', 'Recipient'];

  it('has one shape of connections, and plain lists for the fixed names (R237)', () => {
    const connections = types.filter((type) => type.name.endsWith('Connection'));
    expect(connections.map((type) => type.name)).toEqual(
      expect.arrayContaining(['MessageConnection', 'WebhookDeliveryConnection', 'ContactConnection']),
    );
    for (const connection of connections) {
      if (!isObjectType(connection)) throw new Error(`${connection.name} is no object`);
      const node = connection.name.replace('Connection', '');
      const shape = Object.values(connection.getFields()).map((field) => `${field.name}: ${field.type}`);
      expect(shape).toEqual([
        `edges: [${node}Edge!]!`,
        `nodes: [${node}!]!`,
        'pageInfo: PageInfo!',
        'totalCount: Float!',
        ...(SEARCHED.includes(node) ? ['searchedBackTo: DateTime'] : []),
      ]);
    }
    const lists = ['apiKeys', 'webhooks', 'eventTypes', 'usage', 'members', 'prices', 'scopes'];
    const query = schema.getQueryType()?.getFields();
    for (const name of lists) expect(`${name}: ${query?.[name]?.type}`).toMatch(/: \[\w+!\]$/);
  });
});

const QUERIES =
  `viewer account accounts message messages apiKeys apiKey webhooks webhook webhookDeliveries eventTypes
  contacts contact devices usage ledger auditLog members prices scopes estimateSms`.split(/\s+/);
const MUTATIONS =
  `signIn signOut changePassword createApiKey updateApiKey rotateApiKey revokeApiKey setRateLimit
  registerWebhook updateWebhook deleteWebhook rotateWebhookSecret sendTestEvent redeliver redeliverFailed sendSms
  cancelMessage createContact updateContact deleteContact inviteMember setMemberRole removeMember createAccount
  topUpAccount setPrice sendEmail sendPush sendWhatsApp registerDevice removeDevice`.split(/\s+/);
const TYPES: Record<string, string> = {
  User: 'id email role account mustChangePassword',
  Message:
    'id sid channel to from content status cost currency sandbox createdAt metadata scheduledFor statusReason recipients events deliveries timeline apiKey',
  Recipient: 'to status sid error sentAt deliveredAt',
  Webhook: 'id url events description isActive disabledReason maxRetries createdAt deliveries stats',
  WebhookStats: 'succeeded failed pending',
  WebhookDelivery:
    'id event messageId status httpStatus attempts responseBody errorMessage nextRetryAt createdAt webhook message payload attemptLog',
  DeliveryAttempt: 'at httpStatus durationMs errorMessage',
  ApiKey:
    'keyId name scopes environment enableHmac ipAllowlist rateLimit createdAt expiresAt lastUsedAt revokedAt createdBy',
  RateLimit: 'perMinute perSecond',
  CreateApiKeyInput: 'name scopes environment enableHmac ipAllowlist expiresAt',
  RegisterWebhookInput: 'url events description maxRetries',
  SendSmsInput: 'to message from scheduledFor idempotencyKey environment',
};
