import type { GraphqlFault } from './api-error.ts';
import type { Query } from './document.ts';

/** Limits of the server for one document. */
const MAX_TOKENS = 1_000;
const MAX_ALIASES = 15;
/** Tokens of the document around the queries. */
const AROUND = 20;

/** Codes of a document that was refused as a whole, perhaps because of one of the queries in it. */
const REFUSED: readonly unknown[] = ['GRAPHQL_VALIDATION_FAILED', 'BAD_USER_INPUT'];
/** The server answers with at most this many errors. It may have left out those of another query. */
const MAX_ERRORS = 10;

/** A query that waits for its answer. */
export interface Asked {
  readonly query: Omit<Query<unknown, unknown>, 'types'>;
  readonly variables: Readonly<Record<string, unknown>>;
}

export interface Joined {
  readonly name: string;
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Joins queries to one document. No two of them may have the same name. */
export function joined(all: readonly Asked[]): Joined {
  const declared = all.map(({ query }) => query.variables).join('');
  const fragments = Object.assign({}, ...all.map(({ query }) => query.fragments)) as Record<string, string>;
  const names = Object.keys(fragments).sort();
  const name = all.map(({ query }) => query.name).join('_');
  const variables = declared && `(${declared})`;
  const fields = all.map(({ query }) => query.fields).join(' ');
  return {
    name,
    text: `query ${name}${variables}{${fields}}${names.map((each) => fragments[each]).join('')}`,
    variables: Object.fromEntries(
      all.flatMap(({ query, variables: given }) =>
        Object.entries(given).map(([key, value]) => [`${query.name}_${key}`, value]),
      ),
    ),
  };
}

/** Divides queries into groups that can be joined: no name twice, and within the limits of the server. */
export function groupsOf<One extends Asked>(all: readonly One[]): readonly (readonly One[])[] {
  const groups: One[][] = [];
  for (const each of all) {
    const group = groups.find((one) => fits(one, each));
    if (group) group.push(each);
    else groups.push([each]);
  }
  return groups;
}

function fits(group: readonly Asked[], { query }: Asked): boolean {
  const sum = (of: 'tokens' | 'aliases') => group.reduce((all, one) => all + one.query[of], query[of]);
  return (
    group.every((one) => one.query.name !== query.name) &&
    sum('tokens') + AROUND <= MAX_TOKENS &&
    sum('aliases') <= MAX_ALIASES
  );
}

/** Returns what an answer has for one of the queries: its root fields, under their own names. */
export function partFor<Value>(query: Pick<Asked['query'], 'name'>, data: Readonly<Record<string, Value>>) {
  const prefix = `${query.name}_`;
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) =>
      key.startsWith(prefix) ? [[key.slice(prefix.length), value] as const] : [],
    ),
  );
}

/** True if the errors of a joined document do not say which of its queries failed, so that each is asked alone. */
export function needSeparateCalls(errors: readonly Pick<GraphqlFault, 'path' | 'extensions'>[]): boolean {
  const isRefused = errors.some(({ path, extensions }) => !path && REFUSED.includes(extensions?.code));
  return isRefused || errors.length >= MAX_ERRORS;
}
