import { z } from 'zod';

/** Names of the types that zod expects, and of what it may receive instead. */
const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};
/** Names of unknown members that are quoted. Others could be of any length and hold any character. */
const NAME = /^[\w.-]{1,40}$/;
const NAMES_MOST = 5;

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/**
 * Says what is wrong with a value, and what would be right (R581). Undefined if zod's own text is good enough. A schema
 * that has its own text is not asked.
 */
export function faultText(issue: RawIssue): string | undefined {
  const right = rightOf(issue);
  if (right === undefined) return undefined;
  if (issue.code === 'too_small' && issue.origin === 'string' && issue.minimum === 1)
    return 'must not be empty';
  if (issue.input === undefined) return `is missing: it must be ${right}`;
  const received = kindOf(issue);
  return received === undefined ? `must be ${right}` : `must be ${right}, not ${received}`;
}

function rightOf(issue: RawIssue): string | undefined {
  if (issue.code === 'too_small') return `at least ${amountOf(issue.minimum, issue.origin)}`;
  if (issue.code === 'too_big') return `at most ${amountOf(issue.maximum, issue.origin)}`;
  if (issue.code === 'invalid_type') return KINDS[issue.expected];
  if (issue.code === 'invalid_value') return oneOf(issue.values);
  if (issue.code === 'invalid_union' && Array.isArray(issue.options)) return oneOf(issue.options);
  return undefined;
}

function oneOf(values: readonly unknown[]): string {
  const names = values.map(String);
  return names.length === 1 ? names.join() : `one of ${names.join(', ')}`;
}

/** Formats a bound: the length of a text or a list, or a number itself. */
function amountOf(bound: number | bigint, origin: string): string {
  if (origin === 'string') return `${bound} ${bound === 1 ? 'character' : 'characters'} long`;
  if (origin === 'array') return `${bound} ${bound === 1 ? 'entry' : 'entries'} long`;
  return String(bound);
}

/** Names what a value of the wrong type is. Undefined if its type is right, as that of 1.5 for a whole number. */
function kindOf({ code, expected, input }: RawIssue): string | undefined {
  if (code !== 'invalid_type' || (expected === 'int' && typeof input === 'number')) return undefined;
  if (input === null) return 'null';
  return KINDS[Array.isArray(input) ? 'array' : typeof input];
}

/**
 * Returns the members of `value` that the schema does not have. They are ignored (R5), but where a member is missing,
 * one of them may be that member, misspelt.
 */
export function unknownMembers(schema: z.ZodType, value: unknown): readonly string[] {
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return [];
  return Object.keys(value)
    .filter((name) => NAME.test(name) && !Object.hasOwn(schema.shape, name))
    .slice(0, NAMES_MOST);
}
