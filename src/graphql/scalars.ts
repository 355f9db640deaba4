import { GraphQLScalarType, Kind } from 'graphql';
import { parseIsoTime } from '../domain/iso-time.ts';

function parse(value: unknown): Date {
  const time = typeof value === 'string' ? parseIsoTime(value) : undefined;
  // A plain error, so that GraphQL adds where the value stands.
  if (!time) throw new TypeError('it must be an ISO 8601 time with Z or an offset.');
  return time;
}

/** A time, read as strictly as everywhere in the gateway: no date that does not exist, no guessed zone. */
export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  description:
    'A time in ISO 8601 with `Z` or an offset, such as `2026-12-01T09:30:00Z`. Answers are in UTC.',
  serialize: (value) => (value instanceof Date ? value : parse(value)).toISOString(),
  parseValue: parse,
  parseLiteral: (node) => parse(node.kind === Kind.STRING ? node.value : undefined),
});
