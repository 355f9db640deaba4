/**
 * The gateway as a server of the Model Context Protocol (MCP), for language models. There are no sessions: each request
 * is complete in itself. Each tool calls a REST route as the owner of the API key, so scopes, limits and answers are
 * the same as in REST.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { ApiKeyCaller } from '../../domain/caller.ts';
import type { DomainError } from '../../domain/errors.ts';
import { CHANNELS, MESSAGE_STATUSES, PURPOSES } from '../../domain/messages/message.ts';
import { callRoute, type RouteCall, type RouteCallContext } from './call-route.ts';
import { readErrorPage, readGuides } from './guides.ts';

export interface McpOptions extends RouteCallContext {
  readonly caller: ApiKeyCaller;
  /** Returns the refusal for a thrown error. Logs errors that are not expected. */
  readonly refusalOf: (error: unknown) => DomainError;
}

const INSTRUCTIONS =
  'Sends and follows messages of a messaging gateway. Sends go to the sandbox, where nothing leaves and nothing is ' +
  'charged, unless the key is a production key and the call says production: true. Ask the person before you do that. ' +
  'Quote before you send. The resources are the guides.';

const production = z
  .boolean()
  .optional()
  .describe('True sends and charges for real, with a production key only. Otherwise the sandbox takes it.');
const idempotencyKey = z
  .string()
  .max(64)
  .optional()
  .describe('Name of this send. A repeat with the same name within 24 hours sends nothing twice.');
const scheduledFor = z.string().optional().describe('ISO 8601 time with an offset, at most 30 days ahead.');
const recipients = z
  .string()
  .describe('One number, or several separated by commas. E.164, or a Ugandan number.');
const purpose = z
  .enum(PURPOSES)
  .optional()
  .describe(
    'What the message is for. Default: transactional. Say marketing for offers: opt-outs, quiet hours and senders depend on it.',
  );
const sending = { purpose, scheduledFor, idempotencyKey, production };

/** The tools that send messages: title and input schema for each channel. */
const SENDS = {
  sms: {
    title: 'Send an SMS',
    input: {
      to: recipients,
      message: z.string().describe('At most 1,000 characters.'),
      from: z.string().optional().describe('Sender ID: 1 to 11 letters A-Z or digits.'),
      ...sending,
    },
  },
  email: {
    title: 'Send an email',
    input: {
      to: z.string().describe('One address, or several separated by commas.'),
      subject: z.string(),
      text: z.string(),
      replyTo: z.string().optional(),
      ...sending,
    },
  },
  push: {
    title: 'Send a push notification',
    input: {
      to: z.string().describe('User ids, separated by commas.'),
      title: z.string(),
      body: z.string(),
      ...sending,
    },
  },
  whatsapp: {
    title: 'Send a WhatsApp message',
    input: {
      to: z.string().describe('One number.'),
      type: z
        .enum(['text', 'template'])
        .describe('Text only within 24 hours of the last message of the person.'),
      text: z.object({ body: z.string() }).optional(),
      template: z.object({ name: z.string(), language: z.string() }).optional(),
      ...sending,
    },
  },
} as const;

/** Answers one HTTP request of the Model Context Protocol. `body` is its parsed JSON. */
export async function answerMcp(
  options: McpOptions,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
): Promise<void> {
  const server = createServer(options);
  await addGuides(server);
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => void server.close());
  await server.connect(transport as Parameters<McpServer['connect']>[0]);
  await transport.handleRequest(request, response, body);
}

function createServer(options: McpOptions): McpServer {
  const { caller, refusalOf } = options;
  const server = new McpServer({ name: 'messaging-gateway', version: '1' }, { instructions: INSTRUCTIONS });
  const call = (route: RouteCall, as = caller) => callRoute(options, as, route);
  const answered = async (work: Promise<object>): Promise<CallToolResult> => {
    try {
      return { content: [{ type: 'text', text: JSON.stringify(await work) }] };
    } catch (error) {
      const { code, message, details } = refusalOf(error);
      const told = { code, message, ...(details ? { details } : {}), docUrl: `/docs/errors/${code}` };
      return { isError: true, content: [{ type: 'text', text: JSON.stringify(told) }] };
    }
  };

  server.registerTool(
    'quote_sms',
    {
      title: 'Quote an SMS',
      description: 'What an SMS would cost, its units and segments, and invalid numbers. Sends nothing.',
      inputSchema: { to: recipients, message: z.string(), from: z.string().optional(), purpose },
      annotations: { readOnlyHint: true },
    },
    (body) => answered(call({ method: 'post', path: '/developers/sms/quote', body }) as Promise<object>),
  );

  for (const channel of CHANNELS) {
    const { title, input } = SENDS[channel];
    const shape: z.ZodRawShape = input;
    server.registerTool(
      `send_${channel}`,
      {
        title,
        description: `${title}. Goes to the sandbox unless the key is a production key and production is true.`,
        inputSchema: shape,
        annotations: { destructiveHint: true, openWorldHint: true },
      },
      ({ production: isMeant, idempotencyKey: key, ...body }: Record<string, unknown>) =>
        answered(
          call(
            {
              method: 'post',
              path: `/developers/${channel}`,
              body,
              idempotencyKey: typeof key === 'string' ? key : undefined,
            },
            // A call may choose the sandbox. A sandbox key stays in the sandbox without regard to the call.
            isMeant === true ? caller : { ...caller, environment: 'sandbox' },
          ) as Promise<object>,
        ),
    );
  }

  server.registerTool(
    'explain_message',
    {
      title: 'Look up and explain a message',
      description:
        'A message of any channel with its recipients and timeline, what became of it, why, and what to do.',
      inputSchema: { id: z.string().describe('The id of the message.') },
      annotations: { readOnlyHint: true },
    },
    ({ id }) =>
      answered(
        (async () => {
          const route = { method: 'get', path: '/developers/messages/:id', params: { id } } as const;
          const explained = await call({ ...route, query: { explain: 'true' } });
          const { explanation, ...message } = explained as { readonly explanation: object };
          return { explanation: { ...explanation, readMore: '/docs/states' }, message };
        })(),
      ),
  );

  const span = {
    from: z.string().optional().describe('ISO 8601 time; messages from then on.'),
    until: z.string().optional().describe('ISO 8601 time; messages before it.'),
  };
  server.registerTool(
    'search_messages',
    {
      title: 'Search messages',
      description: 'Messages of a channel, newest first, by status, recipient and time.',
      inputSchema: {
        channel: z.enum(CHANNELS),
        status: z.enum(MESSAGE_STATUSES).optional(),
        to: z.string().optional().describe('A recipient.'),
        ...span,
        page: z.int().min(1).optional(),
        limit: z.int().min(1).max(100).optional(),
      },
      annotations: { readOnlyHint: true },
    },
    ({ channel, page, limit, ...filter }) =>
      answered(
        call({
          method: 'get',
          path: `/developers/${channel}/history`,
          query: { ...filter, page: page?.toString(), limit: limit?.toString() },
        }) as Promise<object>,
      ),
  );

  server.registerTool(
    'usage',
    {
      title: 'Balance and usage',
      description: 'The balance of the account, and how many messages of a channel have each status.',
      inputSchema: { channel: z.enum(CHANNELS), ...span },
      annotations: { readOnlyHint: true },
    },
    ({ channel, ...query }) =>
      answered(
        (async () => {
          const account = (await call({ method: 'get', path: '/account' })) as object;
          const messages: Record<string, number> = {};
          for (const status of MESSAGE_STATUSES) {
            const path = `/developers/${channel}/history`;
            const page = (await call({
              method: 'get',
              path,
              query: { ...query, status, limit: '1' },
            })) as Page;
            messages[status] = page.pagination.total;
          }
          return { account, channel, messages };
        })(),
      ),
  );

  server.registerTool(
    'webhook_health',
    {
      title: 'Health of the webhooks',
      description:
        'Each webhook endpoint, how many of its deliveries failed or are retried, and why the last failed.',
      inputSchema: {},
      annotations: { readOnlyHint: true },
    },
    () =>
      answered(
        (async () => {
          const { data } = (await call({
            method: 'get',
            path: '/developers/webhooks',
            query: { limit: '100' },
          })) as { data: { id: string }[] };
          const endpoints = [];
          for (const webhook of data) {
            const deliveries = async (status: string) =>
              (await call({
                method: 'get',
                path: '/developers/webhooks/:id/deliveries',
                params: { id: webhook.id },
                query: { status, limit: '1' },
              })) as Page<{ errorMessage: string | null }>;
            const failed = await deliveries('failed');
            const retrying = await deliveries('retrying');
            const last = failed.data[0] ?? retrying.data[0];
            endpoints.push({
              ...webhook,
              failed: failed.pagination.total,
              retrying: retrying.pagination.total,
              lastError: last?.errorMessage ?? null,
            });
          }
          return { endpoints };
        })(),
      ),
  );
  return server;
}

interface Page<Row = unknown> {
  readonly data: readonly Row[];
  readonly pagination: { readonly total: number };
}

const MARKDOWN = 'text/markdown';

async function addGuides(server: McpServer): Promise<void> {
  for (const { name, title, read } of await readGuides()) {
    server.registerResource(name, `docs://${name}`, { title, mimeType: MARKDOWN }, async ({ href }) => ({
      contents: [{ uri: href, mimeType: MARKDOWN, text: await read() }],
    }));
  }
  server.registerResource(
    'error',
    new ResourceTemplate('docs://errors/{code}', { list: undefined }),
    { title: 'The page of an error code', mimeType: MARKDOWN },
    async ({ href }, { code }) => {
      const text = await readErrorPage(String(code));
      if (text === undefined) throw new Error(`There is no error code ${String(code)}.`);
      return { contents: [{ uri: href, mimeType: MARKDOWN, text }] };
    },
  );
}
