import { z } from 'zod';
import { apiKeyResource } from '../../domain/api-keys/api-key.ts';
import type { NewApiKey } from '../../domain/api-keys/api-key-operations.ts';
import {
  IP_ALLOWLIST_MAX,
  KEY_NAME_MAX_LENGTH,
  OVERLAP_MAX_SECONDS,
} from '../../domain/api-keys/api-key-rules.ts';
import { ENVIRONMENTS, SCOPES } from '../../domain/caller.ts';
import { type AnswerPart, defineRoute, type Route } from '../define-route.ts';
import { envelope, isoTime, pageQuery, paginated } from '../schemas.ts';
import { limitChanges, limitsResource, sendLimits } from './account.routes.ts';

const TAG = 'API keys';
/**
 * Returns the paths of a key route. The documented path begins with `/developer`. An alias begins with `/developers`,
 * as all other routes do (R7).
 */
const at = (rest: string) => ({ path: `/developer/keys${rest}`, aliases: [`/developers/keys${rest}`] });

const scopes = z.array(z.string().meta({ enum: SCOPES })).describe('What the key may do; case-sensitive.');
const environment = z.enum(ENVIRONMENTS).describe('In the sandbox nothing is sent or charged.');
const ipAllowlist = z
  .array(z.string())
  .max(IP_ALLOWLIST_MAX)
  .describe('CIDRs or single addresses, IPv4 or IPv6, that the key may be used from; empty: any.');
const name = z.string().min(1).max(KEY_NAME_MAX_LENGTH);
const expiresAt = z.string().nullable().describe('ISO 8601 time with `Z` or an offset; null: never.');
const keyParams = z.object({
  keyId: z.string().meta({ description: 'The key id, 16 hexadecimal digits.', example: '9f86d081884c7d65' }),
});

const apiKey = z
  .object({
    keyId: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    environment: z.enum(ENVIRONMENTS),
    enableHmac: z.boolean(),
    ipAllowlist: z.array(z.string()),
    createdAt: isoTime,
    expiresAt: isoTime.nullable(),
    lastUsedAt: isoTime.nullable(),
    revokedAt: isoTime.nullable(),
  })
  .meta({ id: 'ApiKey' });
const newKey = z.object({
  apiKey,
  key: z.string().describe('The whole key, shown in this answer only.'),
  signingSecret: z.string().optional().describe('For keys with `enableHmac`; shown in this answer only.'),
});

const resource = (key: Parameters<typeof apiKeyResource>[0]) => {
  const shown = apiKeyResource(key);
  return { ...shown, scopes: [...shown.scopes], ipAllowlist: [...shown.ipAllowlist] };
};
const created = ({ apiKey: key, key: whole, signingSecret }: NewApiKey) => ({
  apiKey: resource(key),
  key: whole,
  ...(signingSecret === null ? {} : { signingSecret }),
});

const revokedKeys = z
  .array(apiKey)
  .optional()
  .describe(
    'With `descendants=true`: the keys that this request revoked, without those that had ended before.',
  );

const aNewKey: AnswerPart = { route: 'POST /developer/keys', at: 'apiKey.keyId' };

export const keyRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    ...at(''),
    summary: 'The API keys of the account, newest first',
    tag: TAG,
    operation: (operations) => operations.apiKeys.list,
    query: pageQuery,
    response: envelope(apiKey),
    async handle({ caller, operations, query }) {
      return { body: paginated(await operations.apiKeys.list.run(caller, { page: query }), query, resource) };
    },
  }),
  defineRoute({
    method: 'post',
    ...at(''),
    summary: 'Create an API key; the whole key is shown in this answer only',
    tag: TAG,
    operation: (operations) => operations.apiKeys.create,
    successStatus: 201,
    body: z.object({
      name,
      scopes,
      environment,
      enableHmac: z.boolean().optional().describe('Every request must then be signed.'),
      ipAllowlist: ipAllowlist.optional(),
      expiresAt: expiresAt.optional(),
    }),
    response: newKey,
    errors: ['invalid_scope'],
    examples: {
      sending: { body: { name: 'Shop', scopes: ['SEND_SMS', 'READ_MESSAGES'], environment: 'production' } },
      signed: {
        summary: 'Requests must be signed and come from one network',
        body: {
          name: 'Back office',
          scopes: ['FULL_ACCESS'],
          environment: 'sandbox',
          enableHmac: true,
          ipAllowlist: ['203.0.113.0/24', '2001:db8::/32'],
        },
      },
    },
    async handle({ caller, operations, body }) {
      return { body: created(await operations.apiKeys.create.run(caller, body)) };
    },
  }),
  defineRoute({
    method: 'put',
    ...at('/:keyId'),
    summary: 'Change an API key, with effect from the next request',
    tag: TAG,
    operation: (operations) => operations.apiKeys.update,
    params: keyParams,
    body: z
      .object({
        name: name.optional(),
        scopes: scopes.optional(),
        environment: environment.optional(),
        ipAllowlist: ipAllowlist.optional(),
        expiresAt: expiresAt.optional(),
      })
      .optional(),
    response: z.object({ apiKey }),
    errors: ['invalid_scope', 'key_ended'],
    examples: {
      environment: { params: { keyId: aNewKey }, body: { environment: 'sandbox' } },
      scopes: { params: { keyId: aNewKey }, body: { scopes: ['SEND_SMS'] } },
    },
    async handle({ caller, operations, params, body }) {
      const key = await operations.apiKeys.update.run(caller, { ...body, keyId: params.keyId });
      return { body: { apiKey: resource(key) } };
    },
  }),
  defineRoute({
    method: 'post',
    ...at('/:keyId/rotate'),
    summary: 'Replace an API key with one that has the same properties and new secrets',
    tag: TAG,
    operation: (operations) => operations.apiKeys.rotate,
    successStatus: 201,
    params: keyParams,
    body: z
      .object({
        overlapSeconds: z
          .int()
          .min(0)
          .max(OVERLAP_MAX_SECONDS)
          .optional()
          .describe('How long the old key stays valid. Default: 0.'),
      })
      .optional(),
    response: newKey,
    errors: ['key_ended'],
    examples: { overlap: { params: { keyId: aNewKey }, body: { overlapSeconds: 3600 } } },
    async handle({ caller, operations, params, body }) {
      return { body: created(await operations.apiKeys.rotate.run(caller, { ...body, keyId: params.keyId })) };
    },
  }),
  defineRoute({
    method: 'put',
    ...at('/:keyId/limits'),
    summary: 'Lower the send limits of an API key, with effect from the next request',
    tag: TAG,
    operation: (operations) => operations.sendLimits.setOfKey,
    params: keyParams,
    body: z.object(limitChanges),
    response: z.object({ limits: sendLimits }),
    examples: {
      shop: {
        params: { keyId: aNewKey },
        body: { spendPerDay: 30000, perNumberPerHour: 5, allowedPrefixes: ['256'] },
      },
    },
    async handle({ caller, operations, params, body }) {
      const limits = await operations.sendLimits.setOfKey.run(caller, { ...body, keyId: params.keyId });
      return { body: { limits: limitsResource(limits) } };
    },
  }),
  defineRoute({
    method: 'delete',
    ...at('/:keyId'),
    summary: 'Revoke an API key, at once and permanently',
    tag: TAG,
    operation: (operations) => operations.apiKeys.revoke,
    params: keyParams,
    query: z.object({
      descendants: z
        .enum(['true', 'false'])
        .optional()
        .describe(
          'Also revoke the keys that it created or rotated, their descendants and their replacements. Default: false.',
        ),
    }),
    response: z.object({ apiKey, revokedKeys }),
    examples: {
      revoke: { params: { keyId: aNewKey } },
      descendants: { params: { keyId: aNewKey }, query: { descendants: 'true' } },
    },
    async handle({ caller, operations, params, query }) {
      if (query.descendants !== 'true') {
        return { body: { apiKey: resource(await operations.apiKeys.revoke.run(caller, params)) } };
      }
      const tree = await operations.apiKeys.revokeWithDescendants.run(caller, params);
      return { body: { apiKey: resource(tree.apiKey), revokedKeys: tree.revokedKeys.map(resource) } };
    },
  }),
];
