/**
 * The form of a GraphQL response. Undefined if the client accepts none of these:
 * - `json`: a single response.
 * - `event stream`: GraphQL over SSE, in distinct connections mode.
 * - `multipart`: Apollo's protocol for subscriptions over HTTP.
 */
import { getOperationAST, type OperationDefinitionNode, OperationTypeNode, parse } from 'graphql';
import { LIMITS } from './limits.ts';
import { isLive } from './live-query.ts';

export type AnswerForm = 'json' | 'event stream' | 'multipart';

interface MediaRange {
  /** Media type as `type/subtype` in lower case. Each part may be `*`. */
  readonly type: string;
  /** Parameters of the media type except `q`, as `name=value` in lower case and without quotes. */
  readonly parameters: readonly string[];
  readonly quality: number;
}

const GRAPHQL_JSON = 'application/graphql-response+json';
const PLAIN_JSON = 'application/json';
const JSON_TYPES = [PLAIN_JSON, GRAPHQL_JSON];
const EVENT_STREAM = 'text/event-stream';
const STREAM_RANGES = [EVENT_STREAM, 'text/*'];
const MULTIPART = 'multipart/mixed';
/** The parameter that names Apollo's protocol. Without it, `multipart/mixed` may mean the protocol of `@defer`. */
const MULTIPART_PROTOCOL = 'subscriptionspec=1.0';

/**
 * Chooses the form by the kind of operation. Queries and mutations get JSON if the client accepts JSON, even if
 * `Accept` also lists `text/event-stream`. A subscription gets a stream only if `Accept` names a stream. A client that
 * accepts any type would wait for the end of the stream. So it gets a refusal in JSON.
 */
export function answerFormOf(accept: string | undefined, isSubscription: boolean): AnswerForm | undefined {
  const ranges = mediaRangesOf(accept);
  const takesStream = qualityOf(EVENT_STREAM, ranges) > 0;
  if (!isSubscription) {
    // If the client accepts neither form, Apollo refuses the request.
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

/**
 * True if `Accept` names plain JSON and not GraphQL's own media type. Such a client takes a status of 4xx for a fault of
 * the transport, so an answer of GraphQL has status 200 for it (GraphQL over HTTP, 6.4.1).
 */
export function namesOnlyJson(accept: string | undefined): boolean {
  return (
    mediaRangesOf(accept).some(({ type, quality }) => type === PLAIN_JSON && quality > 0) &&
    !namesGraphql(accept)
  );
}

/**
 * True if the parameters of a request ask for a subscription. False if the document cannot be parsed. Takes time in
 * proportion to the document's length.
 */
export function isSubscription(parameters: unknown): boolean {
  return operationWith('subscription', parameters)?.operation === OperationTypeNode.SUBSCRIPTION;
}

/** True if the parameters of a request ask for a query with `@live`. Otherwise as `isSubscription`. */
export function isLiveQuery(parameters: unknown): boolean {
  const operation = operationWith('live', parameters);
  return operation?.operation === OperationTypeNode.QUERY && isLive(operation);
}

/** Returns the operation of a request. Undefined if its document does not contain `word`, or cannot be parsed. */
function operationWith(word: string, parameters: unknown): OperationDefinitionNode | null | undefined {
  const { query, operationName } = Object(parameters) as { query?: unknown; operationName?: unknown };
  // Search for the word first. Most requests do not contain it, and need not be parsed here.
  if (typeof query !== 'string' || !query.includes(word)) return undefined;
  try {
    const document = parse(query, { maxTokens: LIMITS.tokens, noLocation: true });
    return getOperationAST(document, typeof operationName === 'string' ? operationName : undefined);
  } catch {
    return undefined;
  }
}

/**
 * Returns the client's quality value for a media type, from the most specific range (RFC 9110, 12.5.1). Returns 0 if
 * the client does not accept the type.
 */
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
