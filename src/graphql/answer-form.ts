/**
 * The form of a GraphQL response. **Form**: `json`, one response; `event stream` (GraphQL over SSE, distinct
 * connections); `multipart` (Apollo's subscriptions over HTTP); undefined when the client accepts none of these.
 */
import { getOperationAST, OperationTypeNode, parse } from 'graphql';
import { LIMITS } from './limits.ts';

export type AnswerForm = 'json' | 'event stream' | 'multipart';

interface MediaRange {
  /** `type/subtype` in lower case; either may be `*`. */
  readonly type: string;
  /** The parameters except `q`, as `name=value` in lower case and unquoted. */
  readonly parameters: readonly string[];
  readonly quality: number;
}

const GRAPHQL_JSON = 'application/graphql-response+json';
const JSON_TYPES = ['application/json', GRAPHQL_JSON];
const EVENT_STREAM = 'text/event-stream';
const STREAM_RANGES = [EVENT_STREAM, 'text/*'];
const MULTIPART = 'multipart/mixed';
/** Names the protocol. Without it `multipart/mixed` may mean `@defer`, which is another protocol. */
const MULTIPART_PROTOCOL = 'subscriptionspec=1.0';

/**
 * Chooses the form by the operation. Queries and mutations get JSON wherever the client accepts it, because clients
 * name `text/event-stream` beside it only for subscriptions. A subscription gets a stream if the client names one. A
 * client that accepts anything reads a single response and would wait for the end of a stream, so it gets the refusal
 * in JSON.
 */
export function answerFormOf(accept: string | undefined, isSubscription: boolean): AnswerForm | undefined {
  const ranges = mediaRangesOf(accept);
  const takesStream = qualityOf(EVENT_STREAM, ranges) > 0;
  if (!isSubscription) {
    // If the client accepts neither, Apollo refuses.
    return takesStream && !JSON_TYPES.some((type) => qualityOf(type, ranges) > 0) ? 'event stream' : 'json';
  }
  const namesStream = takesStream && ranges.some(({ type }) => STREAM_RANGES.includes(type));
  if (namesStream) return 'event stream';
  const namesMultipart = ranges.some(
    ({ type, parameters, quality }) =>
      type === MULTIPART && quality > 0 && parameters.includes(MULTIPART_PROTOCOL),
  );
  if (namesMultipart) return 'multipart';
  return takesStream ? 'json' : undefined;
}

/** True if `Accept` names GraphQL's own media type, which only GraphQL clients send. */
export function namesGraphql(accept: string | undefined): boolean {
  return mediaRangesOf(accept).some(({ type, quality }) => type === GRAPHQL_JSON && quality > 0);
}

/** True if the parameters of a request ask for a subscription; false if they do not parse. Linear in the document. */
export function isSubscription(parameters: unknown): boolean {
  const { query, operationName } = Object(parameters) as { query?: unknown; operationName?: unknown };
  // Avoids parsing every other request.
  if (typeof query !== 'string' || !query.includes('subscription')) return false;
  try {
    const document = parse(query, { maxTokens: LIMITS.tokens, noLocation: true });
    const name = typeof operationName === 'string' ? operationName : undefined;
    return getOperationAST(document, name)?.operation === OperationTypeNode.SUBSCRIPTION;
  } catch {
    return false;
  }
}

/** The quality of a type, by the most specific range (RFC 9110, 12.5.1); 0 if it is not acceptable. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const family = `${type.slice(0, type.indexOf('/'))}/*`;
  for (const wanted of [type, family, '*/*']) {
    const found = ranges.filter((range) => range.type === wanted);
    if (found.length > 0) return Math.max(...found.map(({ quality }) => quality));
  }
  return 0;
}

function mediaRangesOf(accept: string | undefined): MediaRange[] {
  if (accept === undefined || accept.trim() === '') return [{ type: '*/*', parameters: [], quality: 1 }];
  return accept.split(',').map((range) => {
    const [type = '', ...parameters] = range
      .split(';')
      .map((part) => part.trim().toLowerCase().replaceAll('"', ''));
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return {
      type,
      parameters: parameters.filter((parameter) => !parameter.startsWith('q=')),
      quality: quality === undefined ? 1 : Number(quality) || 0,
    };
  });
}
