import {
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  isObjectType,
} from 'graphql';
import type { Message } from '../domain/messages/message.ts';
import { limitRefusal } from './limits.ts';

/** Ten messages with 1,000 recipients each, and the lists around them. */
export const OBJECTS_MAX = 12_000;
/** An address or a tag counts as a part of an object, so that 100 messages may show all their addresses. */
const WEIGHT_OF_LEAF = 0.1;

/**
 * Limits the lists of a response. Before a query runs, plain lists count as short. While it runs, all lists of the
 * response, or of events resolved together, may hold 12,000 objects.
 */
export class ListAllowance {
  #taken = 0;

  /** Counts objects. Throws the refusal of the query above the limit. */
  take(objects: number): void {
    this.#taken += objects;
    if (this.#taken > OBJECTS_MAX) throw tooLong();
  }

  /** Loads a list of unknown length; `load` gets the number of rows to read at most. */
  async load<T>(load: (limit: number) => Promise<readonly T[]>): Promise<readonly T[]> {
    const rows = await load(OBJECTS_MAX + 1);
    if (rows.length > OBJECTS_MAX) throw tooLong();
    return rows;
  }
}

/** The part of a request's context that lists need. */
interface Asked {
  readonly allowance: ListAllowance;
}

/** Makes every list of the schema count against the limit of its request. */
export function boundLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    // A message has a recipient for each address, and about as many of its other lists, which is known before they are
    // loaded.
    const leastOf = type.name === 'Message' ? (source: unknown) => (source as Message).to.length : () => 0;
    for (const field of Object.values(type.getFields())) {
      const list = getNullableType(field.type);
      if (!isListType(list)) continue;
      const weight = isCompositeType(getNamedType(list)) ? 1 : WEIGHT_OF_LEAF;
      field.resolve = bounded(field.resolve ?? defaultFieldResolver, leastOf, weight);
    }
  }
  return schema;
}

function bounded(
  resolve: GraphQLFieldResolver<unknown, Asked>,
  leastOf: (source: unknown) => number,
  weight: number,
): GraphQLFieldResolver<unknown, Asked> {
  // An error thrown before the promise would leave the promises of neighbours in a list without a handler.
  return async (source, args, context, info) => {
    const least = leastOf(source);
    context.allowance.take(least * weight);
    const list: unknown = await resolve(source, args, context, info);
    if (Array.isArray(list)) context.allowance.take(Math.max(0, list.length - least) * weight);
    return list;
  };
}

function tooLong() {
  const message = `The lists in the answer would hold more than ${OBJECTS_MAX} objects. Ask for fewer at once.`;
  return limitRefusal('cost', message);
}
