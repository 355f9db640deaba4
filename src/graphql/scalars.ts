import { GraphQLScalarType, Kind } from 'graphql';
import { GraphQLJSONObject } from 'graphql-scalars';
import { parseIsoTime } from '../domain/iso-time.ts';

function parseTime(value: unknown): Date {
  const time = typeof value === 'string' ? parseIsoTime(value) : undefined;
  // Throw a plain error. GraphQL adds to it the place of the value in the document.
  if (!time) throw new TypeError('it must be an ISO 8601 time with Z or an offset.');
  return time;
}

/** A time. Parsing is strict: it refuses a date that does not exist and a time without a time zone. */
export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  description:
    'A time in ISO 8601 with `Z` or an offset, such as `2026-12-01T09:30:00Z`. Answers are in UTC.',
  serialize: (value) => (value instanceof Date ? value : parseTime(value)).toISOString(),
  parseValue: parseTime,
  parseLiteral: (node) => parseTime(node.kind === Kind.STRING ? node.value : undefined),
});

/** A JSON object. */
export const JsonObject = GraphQLJSONObject as GraphQLScalarType<Readonly<Record<string, unknown>>, object>;

/** Makes a scalar that may be used in answers only. */
function outputScalar(name: string, description: string): GraphQLScalarType<string, string> {
  const refuse = () => {
    throw new TypeError('it is in answers only.');
  };
  return new GraphQLScalarType<string, string>({
    name,
    description,
    serialize: String,
    parseValue: refuse,
    parseLiteral: refuse,
  });
}

export const BigIntText = outputScalar(
  'BigInt',
  'A whole number of any size, as text: many JSON readers lose digits above 2^53.',
);
export const Decimal = outputScalar('Decimal', 'An exact decimal number as text, such as `19.99`.');
export const Currency = outputScalar('Currency', 'A currency code of ISO 4217, such as `UGX`.');
